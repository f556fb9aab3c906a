"""Choosing by counts among sites that refuse, lie or keep silent; on the in-process grid."""

from __future__ import annotations

import numpy as np
import pytest
from flwr.app import Array, ArrayRecord, Message

from fedbn.choice.prior import EdgePrior
from fedbn.errors import ConfigError
from fedbn.federation.policy import SitePolicy
from fedbn.federation.settings import Experiment
from fedbn.federation.site_file import SiteFile
from tests.server.test_strategy import ASIA, Lie, failed, on, run

COUNTS = ASIA.change(row_weight="ladder", row_weights="1 2", choose="counts")
CLIMB = COUNTS.change(choose="climb")


def cells(change) -> Lie:
    """The answer with other counts."""

    def lie(reply: Message) -> Message:
        record = reply.content["counts"]
        arrays = dict(record.items())
        found = arrays["cells"].numpy().copy()
        arrays["cells"] = Array(np.asarray(change(found)))
        reply.content["counts"] = ArrayRecord(arrays)
        return reply

    return lie


@pytest.fixture(scope="module")
def honest():
    return run(CLIMB)


def test_counts_are_asked_for_and_choose(honest) -> None:
    result = run(COUNTS)
    assert result.choice.requests == 1
    assert result.consensus.reading == "counts"
    assert result.choice.sites == ("client 1", "client 2", "client 3", "client 4")
    assert result.choice.counts.rows == 400
    assert honest.choice.requests > 1
    prior = EdgePrior.over(result.schema.n)
    once, more = (c.score - prior.of(c.dag.n_edges) for c in (result.choice, honest.choice))
    assert more >= once
    assert result.refused == honest.refused == ()


@pytest.mark.parametrize(
    ("lie", "reason"),
    [
        (cells(lambda found: -found.astype(int)), "cells must be uint8 or"),
        (cells(lambda found: found[:-1]), "by seen and gaps"),
        (cells(lambda found: 2 * found), "by its counts"),
        (failed, "client 2: RuntimeError: it broke"),
        (lambda reply: None, "no reply"),
    ],
)
def test_a_bad_answer_is_refused_and_the_others_are_summed(lie: Lie, reason: str) -> None:
    result = run(COUNTS, fault=on("query.counts", lie))
    assert result.choice.sites == ("client 1", "client 3", "client 4")
    assert result.choice.counts.rows == 300
    ((client, text),) = result.refused
    assert client == "client 2"
    assert text.startswith("counts 1: client 2: ")
    assert reason in text


def test_where_too_few_answer_the_structures_choose() -> None:
    strict = COUNTS.change(min_fraction=1.0)
    result = run(strict, fault=on("query.counts", failed))
    assert result.choice is None
    plain = run(strict.change(choose="smhd"))
    assert result.consensus.dag == plain.consensus.dag
    assert [client for client, _ in result.refused] == ["client 2"]


def test_a_site_sends_no_counts_unless_its_policy_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    timid = SiteFile(policy=SitePolicy(max_states=0, min_state_rows=0))
    monkeypatch.setattr("simulations.sites.client_app.SIMULATED", timid)
    result = run(COUNTS)
    assert result.choice is None
    assert {text.split(": ", 2)[2] for _, text in result.refused} == {
        "refused by this site's policy: counts"
    }


NUMBERS = Experiment.of(
    network="random-gaussian:6:9",
    clients=4,
    rows=150,
    score="gaussian-bic",
    choose="climb",
    min_replies=2,
)


def scatter(change) -> Lie:
    """The answer with other sums."""

    def lie(reply: Message) -> Message:
        arrays = dict(reply.content["scatter"].items())
        arrays["products"] = Array(np.asarray(change(arrays["products"].numpy().copy())))
        reply.content["scatter"] = ArrayRecord(arrays)
        return reply

    return lie


def test_numbers_are_chosen_by_one_request_for_sums() -> None:
    climbed, counted = run(NUMBERS), run(NUMBERS.change(choose="counts"))
    for result in (climbed, counted):
        assert result.refused == ()
        assert result.consensus.reading == "counts"
        assert result.choice.sites == ("client 1", "client 2", "client 3", "client 4")
        assert (result.choice.requests, result.choice.cells) == (1, 21)
        assert result.choice.counts is None
    assert climbed.choice.score >= counted.choice.score


def test_sums_of_no_table_are_refused() -> None:
    result = run(NUMBERS, fault=on("query.scatter", scatter(lambda found: -found)))
    assert result.choice.sites == ("client 1", "client 3", "client 4")
    assert result.refused == (
        (
            "client 2",
            "sums: client 2: the sums of squares of all columns must not be below 0",
        ),
    )


def test_where_too_few_send_sums_the_structures_choose() -> None:
    strict = NUMBERS.change(min_fraction=1.0)
    result = run(strict, fault=on("query.scatter", failed))
    assert result.choice is None
    assert result.consensus.dag == run(strict.change(choose="smhd")).consensus.dag
    assert [client for client, _ in result.refused] == ["client 2"]


def test_sums_of_numbers_see_no_site_column() -> None:
    with pytest.raises(ConfigError, match="site-column 'X1' needs columns of categories alone"):
        run(NUMBERS.change(site_column="X1"))
