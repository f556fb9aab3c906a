"""Every learner with every limit: what it says is what happened."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from fedbn.data.dataset import Dataset
from fedbn.errors import FedbnWarning
from fedbn.learners import LEARNERS, LearnerSettings, learn
from fedbn.limits import STATUSES, Limit, status_of
from fedbn.networks.catalog import load_network

FEW = {"bootstrap": {"replicates": 3}, "credible": {"max_dags": 1_000}}
"""Settings that keep a learner small, or let it send all that it has."""

OPEN = [name for name, learner in LEARNERS.items() if not learner.is_private]
"""Learners whose status may tell of the data; that of a private one is always the same."""

HERE = [name for name in OPEN if name not in ("cg-dca", "optimal", "ordering")]
"""Learners that start no process of their own."""


def table(rows: int = 500) -> Dataset:
    return load_network("asia").sample(rows, np.random.default_rng(7))


def learned(learner: str, **settings: object):
    given = LearnerSettings(learner=learner, score="bic", **FEW.get(learner, {}), **settings)
    return learn(table(), given, np.random.default_rng(0))


@pytest.mark.parametrize("learner", HERE)
def test_without_limits_everything_is_considered(learner: str) -> None:
    found = learned(learner)
    assert (found.status, found.met) == ("complete", frozenset())


@pytest.mark.slow
@pytest.mark.parametrize("learner", OPEN)
def test_a_cap_on_parents_that_binds_is_told(learner: str) -> None:
    found = learned(learner, max_parents=1)
    assert (found.status, found.met) == ("parent limit", frozenset({Limit.PARENTS}))
    assert all(dag.adjacency.sum(axis=0).max() <= 1 for dag in found.dags)
    expected = "optimal within limits" if learner == "optimal" else "heuristic"
    assert found.certificate.certificate == expected


@pytest.mark.slow
def test_within_a_cap_the_optimum_is_proven_with_its_bound() -> None:
    capped, free = learned("optimal", max_parents=1), learned("optimal")
    assert capped.certificate.upper_bound == pytest.approx(capped.score)
    assert capped.certificate.gap == 0.0
    assert free.certificate.certificate == "optimal"
    assert capped.score < free.score


@pytest.mark.parametrize("learner", HERE)
def test_a_cap_that_no_better_set_exceeds_is_no_limit(learner: str) -> None:
    found = learned(learner, max_parents=7)
    assert found.status == "complete"


@pytest.mark.parametrize("learner", ["ges", "xges0", "xges", "ils", "bootstrap"])
def test_a_cap_on_the_set_of_an_insert_that_binds_is_told(learner: str) -> None:
    assert learned(learner, max_t=0).status == "set limit"


@pytest.mark.slow
@pytest.mark.parametrize("learner", OPEN)
def test_a_time_limit_that_is_met_is_told(learner: str) -> None:
    many = load_network("hailfinder").sample(2_000, np.random.default_rng(1))
    small = {"replicates": 3} if learner == "bootstrap" else {}
    settings = LearnerSettings(learner, "bic", seconds=1e-9, max_parents=3, **small)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FedbnWarning)
        found = learn(many, settings, np.random.default_rng(0))
    assert found.status in ("time limit", "fallback")
    assert found.met & {Limit.TIME, Limit.FALLBACK}


def test_the_gravest_limit_is_said_in_a_fixed_word() -> None:
    for limit in Limit:
        assert status_of({limit, Limit.PARENTS}) in STATUSES[1:]
    assert status_of({Limit.PARENTS, Limit.TIME}) == "time limit"
    assert status_of({Limit.FALLBACK, *Limit}) == "fallback"
