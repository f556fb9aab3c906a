"""The border of the compiled searches: what does not fit together is an error, never a crash."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fedbn._core import search
from fedbn._core.scores import GaussianScore
from fedbn.errors import ArgumentError
from fedbn.graphs.bits import pack
from fedbn.graphs.dag import DAG
from fedbn.graphs.knowledge import Knowledge
from fedbn.scores import make_score
from fedbn.search.xges import xges0
from tests.search.test_class_search import NAMES, sample

HILL = {"max_parents": None, "tabu_length": 0, "patience": 0}
KICKS = {"max_parents": None, "patience": 9, "reversals": 9, "candidates": 9, "strongest": 1}


def bits(n: int, rows: int | None = None) -> np.ndarray:
    return pack(np.zeros((n if rows is None else rows, n), dtype=bool))


def knowledge(n: int) -> dict[str, np.ndarray]:
    return {"forbidden": bits(n), "required": bits(n)}


@pytest.fixture(scope="module")
def core() -> Any:
    return make_score("bdeu", sample("categorical", 0)).core


def test_starts_and_knowledge_of_other_variables_are_errors(core: Any) -> None:
    stray = bits(6)
    stray[0, 0] = 1 << 6
    cycle = pack(np.roll(np.eye(6, dtype=bool), 1, axis=1))
    for start in (bits(5), bits(7), bits(65), np.zeros((6, 2), np.uint64), stray, cycle, bits(0)):
        for make in (
            lambda start=start: search.ClassSearch(core, start),
            lambda start=start: search.Hill(core, start, **knowledge(6), **HILL),
            lambda start=start: search.Kicks(core, start, **knowledge(6), **KICKS, seed=0),
            lambda start=start: search.leads(core, start, search.Kind.insert),
        ):
            with pytest.raises(ArgumentError):
                make()
    for known in (knowledge(5), {"forbidden": bits(6), "required": bits(7)}):
        with pytest.raises(ArgumentError, match="of the same"):
            search.ClassSearch(core, bits(6), **known)
        with pytest.raises(ArgumentError, match="of the same"):
            search.Hill(core, bits(6), **known, **HILL)
        with pytest.raises(ArgumentError, match="of the same"):
            search.Kicks(core, bits(6), **known, **KICKS, seed=0)
    with pytest.raises(ArgumentError, match="whole or not at all"):
        search.ClassSearch(core, bits(6), forbidden=bits(6))
    for limit in ("max_parents", "max_t"):
        with pytest.raises(ArgumentError, match="at least 0"):
            search.ClassSearch(core, bits(6), **{limit: -1})


def test_arrays_of_other_kinds_are_errors(core: Any) -> None:
    for start in (bits(6).astype(np.int64), bits(6)[:, 0], bits(6).tolist(), None):
        with pytest.raises(TypeError):
            search.ClassSearch(core, start)


def test_pauses_change_nothing(core: Any) -> None:
    """With a budget of one set, and with a budget of one step."""
    kinds = [search.Kind.insert, search.Kind.turn]
    at_once, in_parts = (search.ClassSearch(core, bits(6)) for _ in range(2))
    assert at_once.climb(kinds) == search.Outcome.done
    while (outcome := in_parts.climb(kinds, 0)) == search.Outcome.paused:
        pass
    assert outcome == search.Outcome.done
    assert in_parts.steps == at_once.steps
    assert np.array_equal(in_parts.cpdag(), at_once.cpdag())
    assert in_parts.total() == at_once.total()
    for make, go in (
        (lambda: search.Hill(core, bits(6), **knowledge(6), **HILL), "climb"),
        (lambda: search.Kicks(core, bits(6), **knowledge(6), **KICKS, seed=7), "iterate"),
    ):
        whole, parts = make(), make()
        assert getattr(whole, go)(None)
        while not getattr(parts, go)(1):
            pass
        whole, parts = (getattr(found, "hill", found) for found in (whole, parts))
        assert parts.steps == whole.steps
        assert np.array_equal(parts.best(), whole.best())


def test_what_a_search_is_made_of_outlives_python_names() -> None:
    """The score and the search stay alive while something that Python holds needs them."""
    score = make_score("bdeu", sample("categorical", 1))
    expected = xges0(score).cpdag
    kinds = [search.Kind.delete, search.Kind.turn, search.Kind.insert]
    running = search.ClassSearch(make_score("bdeu", sample("categorical", 1)).core, bits(6))
    assert running.climb(kinds) == search.Outcome.done
    assert np.array_equal(running.cpdag(), pack(expected.adjacency))
    hill = search.Kicks(score.core, bits(6), **knowledge(6), **KICKS, seed=0).hill
    assert hill.climb(None)


def test_knowledge_as_bits() -> None:
    known = Knowledge(required=(("v5", "v0"),), forbidden=(("v1", "v2"),))
    given = known.bits(NAMES)
    assert np.array_equal(
        given["required"], pack(DAG.from_edges(NAMES, known.required).adjacency.T)
    )
    assert given["forbidden"][2, 0] == 1 << 1
    assert given["forbidden"].sum() == 2


def test_no_variable() -> None:
    score = GaussianScore(np.zeros((0, 0)), np.zeros(1), np.zeros(1))
    none = bits(0)
    running = search.ClassSearch(score, none, none, none, seed=1)
    assert running.climb([search.Kind.insert, search.Kind.turn]) == search.Outcome.done
    assert running.member().size == running.cpdag().size == running.total() == 0
    assert search.leads(score, none, search.Kind.delete) == []
    hill = search.Hill(score, none, **knowledge(0), **HILL)
    assert hill.climb(None)
    assert search.Kicks(score, none, **knowledge(0), **KICKS, seed=0).iterate(None)
