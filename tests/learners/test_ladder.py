"""A ladder of row weights is warm: what one rung counts the next ones know, to the last bit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbn.data.dataset import Dataset
from fedbn.learners import LearnerSettings, learn, learn_ladder
from fedbn.networks.catalog import load_network
from fedbn.scores import SCORES, make_score, make_scores
from fedbn.search.ges import ges
from tests.scores.test_scores import FAMILIES, categorical, gaussian

WEIGHTS = (1.0, 1.5, 2.0, 3.25)


def table(kind: str, rows: int, seed: int) -> Dataset:
    network = load_network("asia" if kind == "categorical" else "random-gaussian:9:14")
    return network.sample(rows, np.random.default_rng(seed))


@settings(max_examples=20, deadline=None)
@given(
    st.sampled_from(list(SCORES)), st.integers(2, 900), st.integers(0, 99), st.sampled_from([1, 50])
)
def test_every_rung_is_the_score_of_its_weight(name: str, rows: int, seed: int, ess: int) -> None:
    kind = SCORES[name].kind
    data = categorical(rows, [2, 3, 4, 5], seed) if kind == "categorical" else gaussian(rows, 4)
    ladder = make_scores(name, data, WEIGHTS, ess=ess)
    alone = [make_score(name, data, ess=ess, row_weight=k) for k in WEIGHTS]
    assert [score.label for score in ladder] == [score.label for score in alone]
    for rung in np.random.default_rng(seed).permutation(len(WEIGHTS)):
        for node, parents in FAMILIES:
            value = alone[rung].local_score(node, parents)
            assert ladder[rung].local_score(node, parents) == value


@pytest.mark.parametrize("name", list(SCORES))
@pytest.mark.parametrize("learner", ["ges", "hc"])
def test_a_warm_ladder_finds_what_cold_searches_find(name: str, learner: str) -> None:
    data = table(SCORES[name].kind, 300, 5)
    asked = LearnerSettings(learner=learner, score=name, row_weight="ladder", row_weights="1 2 3.5")
    warm = learn_ladder(data, asked, np.random.default_rng(0))
    assert len(warm) == 3
    for k, found in zip(asked.ladder, warm, strict=True):
        cold = learn(data, replace(asked, row_weight=k), np.random.default_rng(0))
        assert (found.dags, found.score) == (cold.dags, cold.score)


def test_the_next_rung_counts_only_what_is_new() -> None:
    data = table("categorical", 500, 1)
    ladder = make_scores("bdeu", data, WEIGHTS)
    for score in ladder:
        ges(score)
    cold = [make_score("bdeu", data, row_weight=k) for k in WEIGHTS]
    for score in cold:
        ges(score)
    counted = [score.core.counted for score in cold]
    assert max(counted) <= ladder[0].core.counted < 0.6 * sum(counted)


def test_learners_that_see_the_rows_climb_the_ladder_too() -> None:
    data = table("categorical", 200, 2)
    asked = LearnerSettings(
        learner="bootstrap", row_weight="ladder", row_weights="1 2", replicates=3
    )
    rng = np.random.default_rng(0)
    cold = [learn(data, replace(asked, row_weight=k), rng) for k in asked.ladder]
    warm = learn_ladder(data, asked, np.random.default_rng(0))
    assert [(f.dags, f.weights) for f in warm] == [(f.dags, f.weights) for f in cold]
