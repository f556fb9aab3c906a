"""How many answers a site has reserved: as many as a list says that forgets nothing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbn.errors import PolicyError, ResultsError
from fedbn.federation import answer_budget, kept_lines
from fedbn.federation.answer_budget import budget_beside, reserve_answer

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)

asked = st.lists(
    st.tuples(st.sampled_from("78"), st.sampled_from(["answer", "sum"]), st.integers(0, 20)),
    max_size=40,
)


@settings(max_examples=40, deadline=None)
@given(asked)
def test_answers_are_those_of_a_slow_twin(
    tmp_path_factory: pytest.TempPathFactory, asked: list[tuple[str, str, int]]
) -> None:
    """Older lines are put together; the twin keeps every answer."""
    log, now = tmp_path_factory.mktemp("budget") / "log.jsonl", NOON
    reserved: list[tuple[datetime, str, str]] = []
    for run, kind, hours in asked:
        now += timedelta(hours=hours)
        seen: list[tuple[int, int]] = []
        reserve_answer(log, run, kind, now, lambda *found, seen=seen: seen.append(found))  # type: ignore[misc]
        in_run = sum((whose, what) == (run, kind) for _, whose, what in reserved)
        day = now - timedelta(days=1)
        in_day = sum(what == kind and when > day for when, _, what in reserved)
        assert seen == [(in_run, in_day)]
        reserved.append((now, run, kind))
        older = {(whose, what) for when, whose, what in reserved if when <= day}
        recent = sum(when > day for when, *_ in reserved)
        assert len(budget_beside(log).read_text().splitlines()) == len(older) + recent


def test_what_is_refused_is_not_reserved(tmp_path: Path) -> None:
    def refuse(run: int, day: int) -> None:
        raise PolicyError("max-messages", f"{run} and {day}")

    log = tmp_path / "log.jsonl"
    for _ in range(2):
        with pytest.raises(PolicyError, match="0 and 0"):
            reserve_answer(log, "7", "answer", NOON, refuse)


def test_a_full_budget_answers_nothing_and_forgets_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, seen = tmp_path / "log.jsonl", list[tuple[int, ...]]()

    def reserve(run: str, days: int = 0) -> str:
        try:
            reserve_answer(
                log, run, "answer", NOON + timedelta(days), lambda *found: seen.append(found)
            )
        except PolicyError as error:
            return str(error.args[0])
        return "reserved"

    for module in (kept_lines, answer_budget):
        monkeypatch.setattr(module, "MAX_KEPT", 8 * 48)  # bytes of eight lines
    assert [reserve("same") for _ in range(10)] == ["reserved"] * 8 + ["max-messages"] * 2
    assert reserve("same", days=2) == "reserved"  # eight of two days ago are one line now
    assert seen[-1] == (8, 0)
    words = [reserve(f"run {number}", days=4) for number in range(10)]
    assert words == ["reserved"] * 6 + ["max-messages"] * 4
    full = budget_beside(log).read_bytes()
    assert reserve("same", days=9) == "max-messages"
    assert seen[-1] == (9, 0)
    assert budget_beside(log).read_bytes() == full


@pytest.mark.parametrize(
    "line", ['["2026-05-04", "7"]', '["x", "7", "sum", 1]', '["2026-05-04", 7, "sum", 1]', "{"]
)
def test_a_budget_that_cannot_be_read_stops_the_site(tmp_path: Path, line: str) -> None:
    log = tmp_path / "log.jsonl"
    budget_beside(log).write_text(f"{line}\n")
    with pytest.raises(ResultsError, match="must hold"):
        reserve_answer(log, "7", "answer", NOON, lambda run, day: None)
