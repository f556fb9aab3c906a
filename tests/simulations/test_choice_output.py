"""What is said of families that the structures alone chose: why, wherever it is said."""

from __future__ import annotations

import json

import numpy as np
import pytest

from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema, Variable
from fedbn.federation.choice_record import choice_from_dict, choice_to_dict
from fedbn.federation.rounds import server_round
from fedbn.federation.run_remarks import run_remarks
from fedbn.federation.settings import ConsensusSettings
from fedbn.federation.state import ClientReply, FederationResult, ServerState
from fedbn.federation.summing import choose_by_sums
from fedbn.graphs.dag import DAG
from fedbn.scores.scatter import scatter_of_table
from simulations.commands.choice_output import counts_json, print_counts

SCHEMA = Schema((Variable("a"), Variable("b"), Variable("c")))


def of_sums(*edges: str) -> FederationResult:
    """Three sites of five rows where c is a copy of a, and each found these edges."""
    sites = ("north", "east", "west")
    rng = np.random.default_rng(0)
    tables = [Dataset(SCHEMA, rng.normal(size=(5, 2))[:, [0, 1, 0]]) for _ in sites]
    dag = DAG.from_edges(SCHEMA.names, edges)
    replies = tuple(ClientReply(site, (dag,), (1.0,), "complete") for site in sites)
    settings = ConsensusSettings(choose="counts")
    result = server_round(ServerState(SCHEMA, 3), replies, (), settings).result
    assert result is not None
    scatters = dict(zip(sites, map(scatter_of_table, tables), strict=True))
    return choose_by_sums(result, scatters, settings, seed=0)


def test_a_family_without_a_score_is_not_said_to_be_too_large(
    capsys: pytest.CaptureFixture[str],
) -> None:
    result = of_sums("ac", "bc")
    assert set(result.consensus.dag.edges) == {("a", "c"), ("b", "c")}
    assert run_remarks(result) == (
        "sums of products give some families no score, because some of their columns determine "
        "others or they have more parents than rows; the structures decide instead: c given a, b",
    )
    print_counts(result.choice)
    said = capsys.readouterr().out
    assert "; 1 family without a score." in said
    assert "counted" not in said
    facts = counts_json(result.choice, SCHEMA)["counts"]
    assert facts["left_out"] == []
    assert facts["without_score"] == [{"variable": "c", "parents": ["a", "b"]}]


def test_it_is_kept_and_read_back() -> None:
    choice = of_sums("ac", "bc").choice
    assert choice is not None
    text = json.dumps(choice_to_dict(choice))
    found = choice_from_dict(json.loads(text), SCHEMA)
    assert found.unscored == choice.unscored == found.uncounted
    assert len(found.unscored) == 1


def test_nothing_is_said_where_every_family_has_a_score(capsys: pytest.CaptureFixture[str]) -> None:
    result = of_sums("ab")
    assert run_remarks(result) == ()
    print_counts(result.choice)
    assert "score" not in capsys.readouterr().out
    assert counts_json(result.choice, SCHEMA)["counts"]["without_score"] == []
