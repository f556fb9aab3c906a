"""Scores from counts alone against the score's own kernels on the rows."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema
from fedbn.errors import ConfigError, DataError
from fedbn.networks.family_counts import Family, count_families, families_of
from fedbn.scores import make_score
from fedbn.scores.family_scores import FIXED_POINT, bdeu_of_counts, family_scores, own_scores
from tests.naive import members
from tests.naive_judged import own_units
from tests.scores.test_scores import categorical
from tests.strategies import dags


def split(data: Dataset, ends: list[int]) -> list[Dataset]:
    return [data.take(np.arange(a, b)) for a, b in itertools.pairwise(ends)]


@settings(max_examples=30, deadline=None)
@given(dags(min_nodes=4, max_nodes=4), st.integers(1, 400), st.sampled_from([0.01, 1.0, 50.0]))
def test_equals_the_score_on_the_rows(graph, rows: int, ess: float) -> None:
    data = categorical(rows, [2, 3, 1, 5])
    score = make_score("bdeu", data, ess=ess)
    counts = count_families(data, families_of([graph]))
    for family, value in zip(counts.tables.families, bdeu_of_counts(counts, ess), strict=True):
        expected = score.local_score(family.node, family.parents)
        assert value == pytest.approx(expected, rel=1e-9, abs=1e-9)


@settings(max_examples=10, deadline=None)
@given(dags(min_nodes=4, max_nodes=4))
def test_shared_and_own_are_those_of_the_rows(graph) -> None:
    data = categorical(200, [2, 3, 2, 4])
    parts = split(data, [0, 30, 90, 200])
    families = families_of([graph])
    counts = [count_families(part, families) for part in parts]
    own = sum((own_scores(part) for part in counts[1:]), own_scores(counts[0]))
    found = family_scores(counts[0] + counts[1] + counts[2], own)
    pooled = make_score("bdeu", data)
    each = [make_score("bdeu", part) for part in parts]
    for family in families:
        shared = pooled.local_score(*family)
        alone = sum(score.local_score(*family) for score in each)
        place = found.tables.place[family]
        assert found.shared[place] == pytest.approx(shared, abs=1e-9)
        assert found.own[place] == pytest.approx(alone, abs=3 / FIXED_POINT)
        gain = found.own[place] - found.shared[place]
        assert gain == pytest.approx(alone - shared, abs=3 / FIXED_POINT)


@settings(max_examples=20, deadline=None)
@given(dags(min_nodes=4, max_nodes=4), st.integers(1, 300))
def test_own_scores_are_those_of_the_twin_and_of_a_class(graph, rows: int) -> None:
    data = categorical(rows, [2, 3, 1, 2])
    counts = count_families(data, families_of([graph]))
    own = own_scores(counts)
    for family, units in zip(counts.tables.families, own.tolist(), strict=True):
        assert units == own_units(data, *family)
    for member in members(graph):
        assert own_scores(count_families(data, families_of([member]))).sum() == own.sum()


def test_mechanisms_that_differ_are_own() -> None:
    """b copies a at one site and contradicts it at the other; c copies a at both."""
    rng = np.random.default_rng(0)
    a = rng.integers(0, 2, (2, 300))
    flip = rng.random((2, 300)) < 0.1
    b = a ^ flip ^ np.array([[0], [1]])
    c = a ^ (rng.random((2, 300)) < 0.1)
    schema = Schema.categorical(dict.fromkeys(("a", "b", "c"), ("0", "1")))
    sites = [Dataset(schema, np.stack([a[i], b[i], c[i]], axis=1)) for i in range(2)]
    families = [Family(1, (0,)), Family(2, (0,))]
    counts = [count_families(site, families) for site in sites]
    found = family_scores(counts[0] + counts[1], own_scores(counts[0]) + own_scores(counts[1]))
    first, second = (found.tables.place[family] for family in families)
    gains = found.own - found.shared
    assert gains[first] > 100
    assert gains[second] < 0


def test_what_scores_must_be() -> None:
    counts = count_families(categorical(9, [2, 2]), [Family(0, ()), Family(1, (0,))])
    with pytest.raises(ConfigError, match="must be above 0 and at most .*, not 0"):
        bdeu_of_counts(counts, 0)
    with pytest.raises(DataError, match="own scores must be int64 \\[2\\]"):
        family_scores(counts, np.zeros(3, dtype=np.int64))
