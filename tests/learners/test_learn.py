"""Learners by name."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema
from fedbn.errors import ConfigError
from fedbn.graphs.dag import DAG
from fedbn.learners import (
    LEARNERS,
    LearnerSettings,
    find_learner,
    kind_of_score,
    learn,
    learner_for,
)
from fedbn.limits import STATUSES

pytestmark = pytest.mark.usefixtures("solvers_here")


def chain_data(kind: str, rows: int = 400) -> Dataset:
    """a -> b -> c, with d on its own."""
    rng = np.random.default_rng(5)
    a, noise, d = rng.normal(size=rows), rng.normal(size=(2, rows)), rng.normal(size=rows)
    b = a + 0.4 * noise[0]
    table = np.stack([a, b, b + 0.4 * noise[1], d], axis=1)
    if kind == "gaussian":
        return Dataset(Schema.gaussian("abcd"), table)
    schema = Schema.categorical(dict.fromkeys("abcd", ("0", "1")))
    return Dataset(schema, (table > 0).astype(np.int32))


PUBLIC = [name for name, learner in LEARNERS.items() if not learner.is_private]


@pytest.mark.parametrize("learner", PUBLIC)
@pytest.mark.parametrize("score", ["bdeu", "bic", "aic", "gaussian-bic", "bge"])
@pytest.mark.slow
def test_every_learner_finds_the_chain_with_every_score(learner: str, score: str) -> None:
    dataset = chain_data(kind_of_score(score))
    settings = LearnerSettings(learner=learner, score=score)
    learned = learn(dataset, settings, np.random.default_rng(0))
    pairs = {frozenset(edge) for edge in learned.dags[0].edges}
    assert pairs >= {frozenset("ab"), frozenset("bc")}
    assert learned.dags[0].names == ("a", "b", "c", "d")
    assert learned.status in STATUSES
    assert len(learned.weights) == len(learned.dags)


@pytest.mark.parametrize("learner", PUBLIC)
@pytest.mark.slow
def test_a_search_restarts_from_a_given_structure(learner: str) -> None:
    dataset = chain_data("categorical")
    settings = LearnerSettings(learner=learner)
    wrong = DAG.from_edges("abcd", [("a", "d"), ("c", "d")])
    learned = learn(dataset, settings, np.random.default_rng(0), wrong)
    assert {frozenset(edge) for edge in learned.dags[0].edges} == {
        frozenset("ab"),
        frozenset("bc"),
    }


def test_max_parents_is_kept() -> None:
    settings = LearnerSettings(max_parents=1)
    learned = learn(chain_data("categorical"), settings, np.random.default_rng(0))
    assert learned.dags[0].adjacency.sum(axis=0).max() <= 1
    assert learned.status == "parent limit"


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"ess": 0.0}, "ess, .* must be above 0 and at most .*, not 0"),
        ({"ess": float("nan")}, "ess, .* must be above 0 and at most .*, not nan"),
        ({"max_parents": -1}, "max-parents must be at least 0, not -1"),
        ({"seconds": 0.0}, "learner-seconds must be positive and finite, not 0"),
        ({"seconds": float("inf")}, "learner-seconds must be positive and finite, not inf"),
        ({"memory_mb": float("inf")}, "memory-mb must be at least 1 and finite, not inf"),
        ({"search_memory_mb": float("inf"), "learner": "optimal"}, "positive and finite"),
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, float], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        LearnerSettings(**settings)  # type: ignore[arg-type]


def test_unknown_names_are_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=r"unknown learner 'gse': it must be one of ges"):
        find_learner("gse")
    with pytest.raises(ConfigError, match=r"unknown score 'bdue': it must be one of bdeu"):
        kind_of_score("bdue")


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        (
            {"learner": "hc", "random_ties": True},
            "random-ties is for ges, xges0, xges, ils, bootstrap",
        ),
        ({"learner": "xges0", "turning": True}, "turning is for ges, bootstrap"),
        ({"learner": "ges", "bayes_factor": 3.0}, "bf is for credible"),
        ({"learner": "optimal", "pricing": "dca"}, "pricing is for cg-dca"),
    ],
)
def test_a_setting_that_the_learner_ignores_is_refused(settings, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        learner_for(LearnerSettings(**settings))


def test_what_learners_use_are_settings() -> None:
    names = {field.name for field in fields(LearnerSettings)}
    assert all(learner.uses <= names for learner in LEARNERS.values())
