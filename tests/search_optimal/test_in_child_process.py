"""The solver in a process of its own: answers, crashes, limits."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema
from fedbn.errors import DataError, FedbnWarning
from fedbn.learners import LearnerSettings, learn
from fedbn.limits import Limit
from fedbn.scores import make_score
from fedbn.search import child_process
from fedbn.search.child_process import run_timed
from fedbn.search.optimal import in_child_process, learn_optimal
from fedbn.search.optimal.in_child_process import learn_isolated
from tests.search_optimal.instances import categorical, gaussian


def child(code: str) -> tuple[str, ...]:
    """A child that does something else instead of solving."""
    return (sys.executable, "-c", code)


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


SLEEPER = child("import time; time.sleep(600)")
TABLE = categorical(np.random.default_rng(1), 200, [2, 3, 2, 2, 2])


@pytest.mark.slow
def test_the_answer_is_that_of_this_process() -> None:
    score = make_score("bic", TABLE)
    answer = learn_isolated(score, seconds=300.0, memory=1 << 32, rng=rng())
    there = answer.result
    here = learn_optimal(score, rng=rng())
    assert (there.dag, there.score, there.status) == (here.dag, here.score, "optimal")
    assert not there.met


def test_seconds_are_those_of_the_search_and_the_start_is_told_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On a clock that only moves when something is done: Python 5, the search 3."""
    clock = {"now": 5.0}
    monkeypatch.setattr(child_process.time, "process_time", lambda: clock["now"])

    def spend(seconds: float) -> float:
        clock["now"] += seconds
        return seconds

    answer = run_timed(lambda _: spend(3.0), None)
    assert (answer.result, answer.seconds, answer.startup_seconds) == (3.0, 3.0, 5.0)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import os; os.abort()", "ended by SIGABRT"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "ended by SIGSEGV"),
        ("raise SystemExit(3)", "ended with code 3"),
        ("raise MemoryError", "ran out of the memory"),
        ("print('no pickle')", "cannot be read"),
        ("import pickle, sys; pickle.dump(1, sys.stdout.buffer)", "is no result"),
    ],
)
def test_a_crash_leaves_the_ordering_search(code: str, reason: str) -> None:
    score = make_score("bic", TABLE)
    found = learn_isolated(score, rng=rng(), child=child(code)).result
    assert found.status == "heuristic"
    assert found.upper_bound == np.inf
    assert found.met == {Limit.FALLBACK}
    assert reason in found.proof
    assert found.score <= learn_optimal(score).score + 1e-9


@pytest.mark.slow
def test_a_child_that_hangs_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_child_process, "GRACE", 0.5)
    found = learn_isolated(
        make_score("bic", TABLE),
        seconds=0.5,
        rng=rng(),
        child=child("import time; time.sleep(600)"),
    ).result
    assert "did not end" in found.proof


@pytest.mark.slow
def test_bad_data_are_an_error_and_too_little_memory_a_fallback() -> None:
    table = gaussian(rng(), 50, 4)
    values = table.values.copy()
    values[:, 3] = values[:, 0] + values[:, 1]
    collinear = Dataset(Schema.gaussian(table.names), values)
    with pytest.raises(DataError, match="'g00', 'g01', 'g03'"):
        learn_isolated(make_score("gaussian-bic", collinear), rng=rng())
    found = learn_isolated(make_score("bge", table), "subsets", memory=10, rng=rng()).result
    assert "only 0 MiB may be used" in found.proof


@pytest.mark.slow
@pytest.mark.parametrize("learner", ["optimal", "ordering"])
def test_the_learners(learner: str) -> None:
    found = learn(TABLE, LearnerSettings(learner=learner, score="bic"), rng())
    assert found.status == "complete"
    expected = "optimal" if learner == "optimal" else "heuristic"
    assert found.certificate.certificate == expected
    assert (found.certificate.gap == 0.0) == (learner == "optimal")
    assert found.score == pytest.approx(learn_optimal(make_score("bic", TABLE)).score)


def test_a_client_survives_a_crash_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_child_process, "CHILD", child("import os; os.abort()"))
    with pytest.warns(FedbnWarning, match="SIGABRT"):
        found = learn(TABLE, LearnerSettings(learner="optimal", score="bic"), rng())
    assert found.status == "fallback"
    assert found.dags[0].n == 5
    assert found.certificate.upper_bound is None


@pytest.mark.slow
def test_a_time_limit_is_told() -> None:
    table = gaussian(rng(), 2000, 40, 0.5)
    settings = LearnerSettings(learner="optimal", score="gaussian-bic", seconds=0.05)
    found = learn(table, settings, rng())
    assert found.status == "time limit"
    assert found.dags[0].n == 40
