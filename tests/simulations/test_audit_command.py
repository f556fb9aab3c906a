"""The command `fedbn audit`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from simulations.cli import main

SMALL = ["--rows", "80", "--removals", "6", "--targets", "1", "--shadows", "4", "--sites", "2"]


def audit(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any], str]:
    with pytest.raises(SystemExit) as left:
        main(["audit", *arguments, "--json"])
    shown = capsys.readouterr()
    content = json.loads(shown.out) if shown.out else {}
    return int(left.value.code or 0), content, shown.err


@pytest.mark.parametrize(
    ("game", "keys"),
    [
        ("flips", {"classes", "messages", "mean_change", "largest_change"}),
        ("shadow", {"auc", "error", "tpr", "targets", "tables"}),
        ("canary", {"message_changed_by_1", "message_changed_by_5", "auc", "error"}),
        ("reidentify", {"hits", "of", "low", "high", "chance"}),
    ],
)
def test_games_say_their_sample_sizes(
    game: str, keys: set[str], capsys: pytest.CaptureFixture[str]
) -> None:
    status, content, _ = audit(capsys, "asia", "--game", game, *SMALL)
    assert status == 0
    assert (content["game"], content["learner"], content["rows"]) == (game, "ges", 80)
    assert keys <= set(content)


def test_a_private_learner_keeps_its_claim(capsys: pytest.CaptureFixture[str]) -> None:
    status, content, _ = audit(capsys, "asia", "--game", "epsilon", "--learner", "dp-ges", *SMALL)
    assert status == 0
    assert content["claim"].startswith("ε 1 at δ 1e-06 per row (add or remove)")
    assert content["replays"]["of"] == 6
    assert content["caught"] is False
    assert content["largest_range"] <= content["allowed_range"]


def test_noisy_sums_keep_their_claim_too(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("asia", "--game", "epsilon", "--learner", "dp-moments", *SMALL)
    status, content, _ = audit(capsys, *arguments)
    assert status == 0
    assert content["replays"]["of"] == 6
    assert content["caught"] is False
    assert 0.9 < content["largest_share"] <= 1
    assert content["largest_rho"] <= content["allowed_rho"]


def test_noisy_sums_of_numbers_keep_their_claim(capsys: pytest.CaptureFixture[str]) -> None:
    numbers = ("--learner", "dp-moments", "--score", "gaussian-bic", "--bounds", "-9:9")
    arguments = ("random-gaussian:4:4", "--game", "epsilon", *numbers, *SMALL)
    status, content, _ = audit(capsys, *arguments)
    assert status == 0
    assert content["replays"]["of"] == 6
    assert content["same_questions"] is True
    assert content["caught"] is False
    assert content["largest_rho"] <= content["allowed_rho"]


def test_tables_and_wrong_questions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "t.csv"
    table.write_text("a,b\n" + "0,0\n1,1\n" * 30)
    status, content, _ = audit(capsys, str(table), "--game", "flips", "--removals", "3")
    assert (status, content["classes"]["of"]) == (0, 3)
    for arguments, words in (
        (["asia", "--game", "epsilon"], "it claims no ε"),
        (["asia", "--game", "flip"], "game must be one of flips"),
        ([str(table), "--rows", "9"], "--rows is for networks"),
    ):
        status, _, error = audit(capsys, *arguments)
        assert status == 1
        assert words in error
