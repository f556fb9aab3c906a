"""The command `fedbn budget`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fedbn.privacy.zcdp import epsilon_of, rho_of
from simulations.cli import main
from tests.privacy.test_ledger import spend


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as left:
        main(list(arguments))
    return int(left.value.code or 0)


def test_the_sum_with_its_unit_and_what_is_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "t.jsonl"
    spend(path)
    spend(path)
    assert run("budget", str(path), "--max-epsilon", "3", "--json") == 0
    content = json.loads(capsys.readouterr().out)
    assert content["epsilon"] == pytest.approx(epsilon_of(2 * rho_of(1, 1e-6), 1e-6))
    assert (content["delta"], content["unit"]) == (1e-6, "row")
    assert (content["adjacency"], content["threats"]) == ("add or remove", "S, C, S+m, P")
    assert content["left-rho"] == pytest.approx(rho_of(3, 1e-6) - 2 * rho_of(1, 1e-6))
    assert [entry["mechanism"] for entry in content["runs"]] == ["dp-climb", "dp-climb"]
    assert run("budget", str(path)) == 0
    shown = capsys.readouterr().out
    assert "add or remove" in shown
    assert "dp-climb" in shown


def test_a_ledger_that_is_not_there_or_torn_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "t.jsonl"
    assert run("budget", str(path)) == 1
    assert "there is no ledger" in capsys.readouterr().err
    path.write_text("{}\n")
    assert run("budget", str(path)) == 1
    assert "must be a whole reservation" in capsys.readouterr().err
