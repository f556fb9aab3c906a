"""The ledger: what is spent is written first, adds up, and survives everything."""

from __future__ import annotations

import json
import multiprocessing
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema
from fedbn.errors import ConfigError, PolicyError, ResultsError
from fedbn.privacy.guarantee import Guarantee
from fedbn.privacy.ledger import Ledger, Reservation, ledger_beside, reserve, table_digest
from fedbn.privacy.ledger import would_exceed as exceeds
from fedbn.privacy.zcdp import epsilon_of, rho_of

ROOT = Path(__file__).resolve().parents[2]
DELTA = 1e-6
ONE = Guarantee(1.0, DELTA)


def spend(path: Path, guarantee: Guarantee = ONE, **limits: float) -> Reservation:
    return reserve(
        path,
        guarantee,
        run="7",
        round=1,
        table="5c1f",
        mechanism="dp-climb",
        parameters={"dp-edges": 1.5},
        **limits,
    )


def test_runs_add_up_in_zcdp_and_not_in_epsilon(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    for _ in range(3):
        entry = spend(path)
    ledger = Ledger.read(path)
    assert ledger.spent == 3 * Fraction(rho_of(1, DELTA))
    assert ledger.entries[-1] == entry
    assert ledger.epsilon(DELTA) == pytest.approx(epsilon_of(3 * rho_of(1, DELTA), DELTA))
    assert 1.7 < entry.epsilon < 1.9


def test_a_line_says_unit_adjacency_and_delta_beside_epsilon(tmp_path: Path) -> None:
    spend(tmp_path / "t.jsonl")
    content = json.loads((tmp_path / "t.jsonl").read_text())
    assert content["event"] == "reserve"
    assert (content["unit"], content["adjacency"]) == ("row", "add or remove")
    assert (content["rho"], content["delta"]) == (rho_of(1, DELTA), DELTA)
    assert content["parameters"] == {"dp-edges": 1.5}


def test_a_run_beyond_the_limit_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    spend(path, max_epsilon=1.5)
    spend(path, max_epsilon=1.5)
    before = path.read_bytes()
    with pytest.raises(PolicyError) as error:
        spend(path, max_epsilon=1.5)
    assert error.value.args[0] == "max-epsilon"
    assert path.read_bytes() == before


def test_a_larger_delta_than_the_site_allows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="max-epsilon"):
        spend(tmp_path / "t.jsonl", max_delta=1e-9)


@given(
    rhos=st.lists(st.floats(1e-9, 10), max_size=5),
    rho=st.floats(1e-9, 10),
    limit=st.floats(0.01, 50),
)
def test_would_exceed_is_about_the_sum(rhos: list[float], rho: float, limit: float) -> None:
    entries = tuple(Reservation("", "", 1, "", "", value, 0, DELTA, 0) for value in rhos)
    ledger = Ledger(Path("t"), entries)
    total = epsilon_of(float(sum((Fraction(r) for r in [*rhos, rho]), Fraction(0))), DELTA)
    assert exceeds(ledger, rho, total * (1 - 1e-9), DELTA)
    assert not exceeds(ledger, rho, total * (1 + 1e-9), DELTA)
    if exceeds(ledger, rho, limit, DELTA):
        assert exceeds(ledger, 2 * rho, limit, DELTA)


def test_a_torn_line_counts_or_stops_everything(tmp_path: Path) -> None:
    """Cut anywhere, the last line is either counted, not there at all, or an error."""
    path = tmp_path / "t.jsonl"
    spend(path)
    first = path.read_bytes()
    spend(path)
    whole = path.read_bytes()
    for cut in range(len(first), len(whole) + 1):
        path.write_bytes(whole[:cut])
        if cut == len(first):
            assert len(Ledger.read(path).entries) == 1
        elif cut >= len(whole) - 1:
            assert len(Ledger.read(path).entries) == 2
            spend(path)
            assert len(Ledger.read(path).entries) == 3
        else:
            with pytest.raises(ResultsError, match="line 2: must be a whole reservation"):
                spend(path)
            assert path.read_bytes() == whole[:cut]


@pytest.mark.parametrize(
    "change",
    [{"rho": -1}, {"rho": None}, {"event": "refund"}, {"unit": "table"}, {"rho": float("nan")}],
)
def test_lines_that_are_no_reservation_stop_everything(
    tmp_path: Path, change: dict[str, object]
) -> None:
    path = tmp_path / "t.jsonl"
    spend(path)
    path.write_text(json.dumps(json.loads(path.read_text()) | change) + "\n")
    with pytest.raises(ResultsError, match="line 1: must be a whole reservation"):
        Ledger.read(path)


@pytest.mark.slow
def test_killed_at_any_instruction_never_less_is_spent_than_drawn(tmp_path: Path) -> None:
    """More than 1,000 kills, at every instruction of the ledger's module and of the drawing."""
    command = [sys.executable, "-m", "tests.privacy.kill_while_reserving", str(tmp_path)]
    found = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=600
    )
    *broken, killed = found.stdout.splitlines()
    assert broken == []
    assert int(killed) >= 1000


def test_two_runs_at_once_cannot_both_take_the_rest(tmp_path: Path) -> None:
    """Four processes reserve ε 1 each where the limit lets two of them."""
    path = tmp_path / "t.jsonl"
    forking = multiprocessing.get_context("fork")
    runs = [
        forking.Process(target=spend, args=(path,), kwargs={"max_epsilon": 1.5}) for _ in range(4)
    ]
    for run in runs:
        run.start()
    for run in runs:
        run.join(300)
    assert sorted(run.exitcode for run in runs) == [0, 0, 1, 1]
    assert len(Ledger.read(path).entries) == 2


def test_the_digest_is_of_the_rows_in_any_order_and_keyed(tmp_path: Path) -> None:
    schema = Schema.categorical({"a": "01", "b": "01"})
    rows = np.array([[0, 1], [1, 1], [0, 0]])
    ledger, other = tmp_path / "t.jsonl", tmp_path / "u.jsonl"
    digest = table_digest(Dataset(schema, rows), ledger)
    assert digest == table_digest(Dataset(schema, rows[::-1]), ledger)
    assert digest != table_digest(Dataset(schema, rows[:2]), ledger)
    assert digest != table_digest(Dataset(schema, rows), other)
    assert (tmp_path / "t.jsonl.key").stat().st_mode & 0o077 == 0


def test_ledgers_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match="cannot be written"):
        spend(tmp_path / "nowhere" / "t.jsonl")
    with pytest.raises(ResultsError, match="cannot read the ledger"):
        Ledger.read(tmp_path)


def test_guarantees() -> None:
    assert Guarantee(3, DELTA, seeded=True).words.endswith("seeded, not private")
    assert ledger_beside("data/t.csv") == Path("data/t.csv.privacy.jsonl")
    for epsilon, delta in ((0, DELTA), (1, 0), (float("nan"), DELTA)):
        with pytest.raises(ConfigError):
            Guarantee(epsilon, delta)


def test_a_weak_promise_is_told_to_be_one() -> None:
    assert Guarantee(10.0, 1e-3).doubts == ()
    assert "hides hardly anything" in Guarantee(100.0, 1e-6).doubts[0]
    assert "nothing is promised" in Guarantee(1.0, 0.5).doubts[0]
    assert len(Guarantee(100.0, 0.5).doubts) == 2
