"""Weights of structures from summed counts are those of the pooled rows."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbn.choice.averaging import structures_of_classes, weights_of_structures
from fedbn.data.dataset import Dataset
from fedbn.graphs.dag import DAG
from fedbn.graphs.pdag import dag_to_cpdag
from fedbn.networks.catalog import load_network
from fedbn.networks.family_counts import count_families, families_of
from fedbn.scores import make_score, total_score
from tests.naive import all_dags


@given(st.integers(0, 1000), st.lists(st.integers(0, 24), min_size=1, max_size=6))
def test_weights_are_the_posterior_of_the_pooled_rows(seed: int, chosen: list[int]) -> None:
    everything = load_network("cancer").sample(60, np.random.default_rng(seed))
    names = everything.names[:3]
    data = Dataset(
        type(everything.schema)(everything.schema.variables[:3]), everything.codes[:, :3]
    )
    dags = structures_of_classes([DAG(names, all_dags(3)[i].adjacency) for i in chosen])
    sites = [data.take(range(25)), data.take(range(25, 60))]
    families = families_of(dags)
    counts = count_families(sites[0], families) + count_families(sites[1], families)
    score = make_score("bdeu", data)
    logs = [total_score(score, dag) for dag in dags]
    expected = [math.exp(each - max(logs)) for each in logs]
    found = weights_of_structures(dags, counts)
    assert found == pytest.approx([each / sum(expected) for each in expected], rel=1e-9)


def test_each_class_counts_once() -> None:
    dags = [DAG(("a", "b", "c"), dag.adjacency) for dag in all_dags(3)]
    kept = structures_of_classes(dags)
    assert len(kept) == 11
    assert {dag_to_cpdag(dag).adjacency.tobytes() for dag in dags} == {
        dag_to_cpdag(dag).adjacency.tobytes() for dag in kept
    }
    assert kept[0] is dags[0]
