"""What a site answers of its numbers: no small buckets, and no question twice in another way."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from fedbn.data.quantiles import BITS, ROUNDS, Histogram, Question, Selection, histogram
from fedbn.errors import PolicyError, ResultsError
from fedbn.federation.cut_rounds import (
    MAX_BUCKETS,
    MAX_QUESTIONS,
    answer_question,
    askable,
    rounds_beside,
)
from fedbn.privacy.small_buckets import told_counts
from tests.naive_small_counts import told_by_moving

LEAST = 5
numbers_of = st.lists(
    st.one_of(st.integers(-3, 3).map(float), st.floats(-1e6, 1e6)), min_size=LEAST, max_size=40
).map(np.array)


@settings(max_examples=200, deadline=None)
@given(numbers_of, st.integers(1, 8), st.data())
def test_what_is_told_is_that_of_a_slow_twin(
    numbers: np.ndarray, least: int, data: st.DataObject
) -> None:
    least = min(least, len(numbers))
    prefixes: tuple[int, ...] = (0,)
    before = {0: len(numbers)}
    for number in range(1, ROUNDS + 1):
        told = told_counts(numbers, number, prefixes, least)
        assert told == told_by_moving(numbers.tolist(), number, prefixes, least)
        assert all(count >= least for count in told.values())
        for prefix in prefixes:
            inside = sum(count for bucket, count in told.items() if bucket >> BITS == prefix)
            assert inside == before[prefix]
        chosen = data.draw(st.sets(st.sampled_from(sorted(told)), min_size=1, max_size=3))
        prefixes, before = tuple(sorted(chosen)), told


def test_without_small_buckets_the_cuts_are_those_of_the_numbers(tmp_path: Path) -> None:
    numbers = np.repeat(np.arange(1.0, 21.0), 10)
    moved, plain = Selection({"a": 4}), Selection({"a": 4})
    while not moved.done:
        question = moved.question()
        path = rounds_beside(tmp_path / "log")
        moved = moved.after(answer_question(path, question, {"a": numbers}, LEAST))
        plain = plain.after(histogram(plain.question(), {"a": numbers}))
    assert moved.cuts() == plain.cuts() == {"a": (5.0, 10.0, 15.0)}


def word(path: Path, question: Question, numbers: np.ndarray) -> str:
    try:
        found = answer_question(path, question, {"a": numbers}, LEAST)
    except PolicyError as error:
        return str(error.args[0])
    assert isinstance(found, Histogram)
    return "answered"


def test_rounds_are_in_order_and_few(tmp_path: Path) -> None:
    numbers, path = np.arange(100.0), rounds_beside(tmp_path / "log")
    first, second = Question(1, {"a": (0,)}), Question(2, {"a": (1,)})
    assert word(path, second, numbers) == "histograms"
    assert [word(path, first, numbers) for _ in range(5)] == ["answered"] * 5
    words = [word(path, Question(2, {"a": (k,)}), numbers) for k in range(MAX_QUESTIONS + 1)]
    assert words == ["answered"] * MAX_QUESTIONS + ["histograms"]
    assert word(path, second, numbers) == "answered"
    assert word(path, Question(3, {"a": tuple(range(MAX_BUCKETS + 1))}), numbers) == "histograms"
    assert word(path, Question(1, {"b": (0,)}), numbers) == "histograms"
    assert word(path, first, numbers[: LEAST - 1]) == "histograms"
    assert len(path.read_text().splitlines()) == 2 + MAX_QUESTIONS


def test_numbers_of_records_are_not_asked_for() -> None:
    ages = np.random.default_rng(1).integers(17, 91, 200).astype(float)
    found = askable({"record": np.arange(200.0), "age": ages, "value": ages / 7})
    assert set(found) == {"age", "value"}


def test_a_file_that_cannot_be_read_stops_the_site(tmp_path: Path) -> None:
    path = rounds_beside(tmp_path / "log")
    path.write_text(json.dumps(["a", 1]) + "\n")
    with pytest.raises(ResultsError, match="must hold"):
        answer_question(path, Question(1, {"a": (0,)}), {"a": np.arange(9.0)}, LEAST)


def test_a_column_of_which_few_numbers_changed_is_not_told_again(tmp_path: Path) -> None:
    """The same question of a table with one row more would tell that row's bucket."""
    path, question = tmp_path / "cuts", Question(1, {"age": (0,)})
    ages = np.random.default_rng(1).normal(50, 10, 200)

    def ask(numbers: NDArray[np.float64]) -> Histogram:
        return answer_question(path, question, {"age": numbers}, 5)

    first = ask(ages)
    assert ask(ages[::-1]) == first
    for changed in (np.append(ages, 71.25), ages[1:], np.append(ages[1:], 71.25)):
        with pytest.raises(PolicyError, match="few rows differ"):
            ask(changed)
    assert ask(ages) == first
    assert sum(ask(np.append(ages, [71.25, 72, 73, 74, 75])).counts["age"].values()) == 205
