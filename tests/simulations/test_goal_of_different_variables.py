"""The program that says whether the default is as near to the network as the goal says."""

from __future__ import annotations

import sys

import pytest

from fedbn.networks.catalog import load_network
from simulations.studies.different_variables import goal


def test_a_line_has_all_rules_and_what_is_missed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["goal", "asia", "--seeds", "1", "2", "--sites", "4", "--rows", "300"]
    monkeypatch.setattr(sys, "argv", words)
    goal.main()
    (line,) = capsys.readouterr().out.splitlines()
    told = line.split(", ")
    names = ["whole", "vote", "pair", "first", "default"]
    assert [word.split(" ")[0] for word in told[2:7]] == names
    far = dict(word.split(" ") for word in told[2:7])
    limits = {"whole": 1.1 * float(far["whole"])} | {k: float(far[k]) for k in ("vote", "pair")}
    missed = [name for name, limit in limits.items() if float(far["default"]) > limit]
    assert line.endswith(f"missed: {', '.join(missed) or '-'}")


def test_right_structures_over_all_variables_are_fused_to_the_network() -> None:
    truth = load_network("asia").dag
    truth = truth.reorder(sorted(truth.names))
    found = goal.rivals([truth] * 4, [truth] * 4, 60.0)
    assert found["default"] == found["whole"] == found["first"]
