"""The benchmark of counting: what it prints, and that both ladders find the same."""

from __future__ import annotations

from simulations.benchmarks.counting import climb_ladder, compare, line_of


def test_the_least_of_the_repetitions_counts() -> None:
    seconds = iter([3.0, 1.0, 2.0, 4.0])
    ways = [lambda: [{"seconds": next(seconds), "dag": "a"}]] * 2
    assert compare(ways, 2) == [([2.0, 1.0], True)]
    found = iter("ab")
    assert compare([lambda: [{"seconds": 1.0, "dag": next(found)}]], 2) == [([1.0], False)]
    line = line_of("asia", 100, [0.2, 0.1], True)
    assert line.split() == ["asia", "100", "200.0ms", "100.0ms", "2.00", "True"]


def test_a_warm_ladder_finds_the_same() -> None:
    cold, warm = (climb_ladder("asia", 100, 0, warm=warm)["dag"] for warm in (False, True))
    assert cold == warm
