"""One score and several threads: those that it has itself, and those that ask it at one time."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fedbn._core.scores import DiscreteScore, ScoreKind
from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema
from fedbn.errors import ArgumentError, ConfigError
from fedbn.federation.run_config import run_config_keys
from fedbn.learners import LearnerSettings, learn, learner_for
from fedbn.scores import TabulatedScore, make_score, make_scores
from fedbn.search.boss import boss
from fedbn.search.ges import ges
from fedbn.search.hill_climbing import hill_climbing
from fedbn.search.result import SearchResult

ROWS = 30_000  # so many that threads help with a family
VARIABLES = 10


def table(arities: list[int], seed: int, *, kinds: int = ROWS) -> Dataset:
    """Columns that depend on the one before, over at most so many different rows."""
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, arities[0], kinds)]
    for r in arities[1:]:
        columns.append((columns[-1] + rng.binomial(3, 0.2, kinds)) % r)
    codes = np.stack(columns, axis=1)[rng.integers(0, kinds, ROWS) if kinds < ROWS else slice(None)]
    names = [f"v{i}" for i in range(len(arities))]
    states = [[f"{s:02d}" for s in range(r)] for r in arities]
    return Dataset(Schema.categorical(dict(zip(names, states, strict=True))), codes)


def numbers(seed: int, n: int = 300) -> Dataset:
    rng = np.random.default_rng(seed)
    columns = rng.normal(size=(80, n)) + rng.normal(size=(80, 1))
    return Dataset(Schema.gaussian(tuple(f"v{i:03d}" for i in range(n))), columns)


def families(n: int, rng: np.random.Generator) -> list[tuple[int, list[int], list[int]]]:
    """Of every size: y, P and all other variables."""
    found = []
    for size in range(min(6, n - 2)):
        order = [int(v) for v in rng.permutation(n)]
        found.append((order[0], sorted(order[1 : 1 + size]), order[1 + size :]))
    return found


def values(score: TabulatedScore, seed: int) -> bytes:
    """The local scores of some families, one by one and many together."""
    core, found = score.core, []
    for y, parents, xs in families(score.n, np.random.default_rng(seed)):
        found += [core.local_with(y, parents, xs), [core.local(y, parents), core.joint(parents)]]
    return np.concatenate(found).tobytes()


@settings(max_examples=12, deadline=None)
@given(
    st.lists(st.sampled_from((1, 2, 2, 3, 7, 40)), min_size=VARIABLES, max_size=VARIABLES),
    st.sampled_from((ROWS, 9_000, 300)),
    st.integers(2, 5),
    st.integers(0, 99),
)
@example([40] * VARIABLES, ROWS, 2, 0)  # tables too large to be dense
@example([3] * 18, ROWS, 3, 1)  # bitmaps in parts
@example([7] * 18, ROWS, 3, 1)  # rows in parts
@example([3] * 18, 300, 2, 1)  # equal rows, and bitmaps of all
@example([2] * 18, 9_000, 3, 1)  # bitmaps, and merged rows, which are other rows of a part
def test_values_have_the_same_bytes_with_any_number_of_threads(
    arities: list[int], kinds: int, threads: int, seed: int
) -> None:
    data = table(arities, seed, kinds=kinds)
    alone = make_scores("bdeu", data, (1.0, 2.5))
    together = make_scores("bdeu", data, (1.0, 2.5), threads=threads)
    assert [score.core.threads for score in together] == [threads, threads]
    for one, other in zip(alone, together, strict=True):
        assert values(one, seed) == values(other, seed)
        assert one.core.counted == other.core.counted
        for rows, same in zip(one.core.merged_rows(), other.core.merged_rows(), strict=True):
            assert np.array_equal(rows, same)
        assert list(one.core.rows_outside_modes) == list(other.core.rows_outside_modes)


def test_without_bitmaps_the_rows_are_shared() -> None:
    """Bitmaps of 1 MB have no room."""
    codes = np.ascontiguousarray(table([13] * VARIABLES, 4).codes.T.astype(np.uint16))
    made = [
        DiscreteScore.rungs(ScoreKind.bdeu, codes, [13] * VARIABLES, [(1.0, 1.0)], 1 << 16)[0]
        for _ in range(2)
    ]
    made[1].use_threads(3)
    for y, parents, xs in families(VARIABLES, np.random.default_rng(4)):
        one, other = (core.local_with(y, parents, xs) for core in made)
        assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("score", ["gaussian-bic", "bge", "mixed-bic"])
def test_scores_of_numbers_have_the_same_bytes_too(score: str) -> None:
    data = numbers(1, 40 if score == "mixed-bic" else 300)
    alone, together = make_score(score, data), make_score(score, data, threads=3)
    assert together.core.threads == 3
    assert values(alone, 1) == values(together, 1)


SEARCHES: dict[str, Callable[[TabulatedScore], SearchResult]] = {
    "ges": ges,
    "hc": lambda score: hill_climbing(score, tabu=5),
    "boss": lambda score: boss(score, rng=np.random.default_rng(1)),
}


@pytest.mark.parametrize("search", SEARCHES)
def test_searches_find_the_same_with_threads(search: str) -> None:
    data = table([2, 3, 5, 2, 9, 4, 2, 3], 2)
    alone, together = (SEARCHES[search](make_score("bdeu", data, threads=t)) for t in (1, 2))
    assert alone.dag == together.dag
    assert (alone.score, alone.counters) == (together.score, together.counters)


@pytest.mark.parametrize("threads", [1, 3])
def test_threads_that_ask_one_score_take_turns(threads: int) -> None:
    """Four searches and many single questions at one time, on one score and on a part of it."""
    data = table([2, 3, 4, 2, 3, 5], 3)
    score = make_score("bdeu", data, threads=threads)
    part = score.over(np.arange(5))
    expected = ges(make_score("bdeu", data)).dag
    expected_of_part = ges(make_score("bdeu", data).over(np.arange(5))).dag
    fresh = values(make_score("bdeu", data), 5)
    found: list[object] = []
    jobs = [
        *[lambda: found.append(ges(score).dag == expected)] * 2,
        *[lambda: found.append(ges(part).dag == expected_of_part)] * 2,
        *[lambda: found.append(values(score, 5) == fresh)] * 4,
    ]
    running = [threading.Thread(target=job) for job in jobs]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert found == [True] * len(jobs)


@pytest.mark.parametrize("score", ["gaussian-bic", "mixed-bic"])
def test_scores_of_numbers_serve_several_threads(score: str) -> None:
    data = numbers(2, 30)
    one = make_score(score, data)
    fresh = values(make_score(score, data), 6)
    found: list[bool] = []
    running = [
        threading.Thread(target=lambda: found.append(values(one, 6) == fresh)) for _ in range(6)
    ]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert found == [True] * 6


def test_learners_that_cannot_use_threads_refuse_them_and_no_run_has_them() -> None:
    with pytest.raises(ConfigError, match="threads is for ges, .*'optimal' has no use for it"):
        learner_for(LearnerSettings(learner="optimal", threads=2))
    assert "threads" not in run_config_keys()
    data = table([2, 3, 2], 1)
    alone, together = (
        learn(data, LearnerSettings(learner="xges0", threads=t), np.random.default_rng(1))
        for t in (1, 2)
    )
    assert (alone.dags, alone.score) == (together.dags, together.score)


def test_there_is_at_least_one_thread_and_a_bound() -> None:
    data = table([2, 2], 0)
    with pytest.raises(ConfigError, match="threads must be at least 1, got 0"):
        make_score("bdeu", data, threads=0)
    for wrong in (0, -1, 1025):
        with pytest.raises(ArgumentError, match=f"from 1 to 1024, not {wrong}"):
            make_score("bdeu", data).core.use_threads(wrong)
