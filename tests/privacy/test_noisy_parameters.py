"""Parameters from noisy counts: what one row moves, what it costs, what becomes of the noise."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbn.data.dataset import Dataset
from fedbn.errors import ConfigError, DataError, StructureError
from fedbn.graphs.dag import DAG
from fedbn.networks.catalog import load_network
from fedbn.networks.random import random_bayesian_network
from fedbn.privacy import parameters
from fedbn.privacy.parameters import noisy_network, tables_of_counts
from tests.strategies import dags


@settings(max_examples=25)
@given(dags(max_nodes=4), st.integers(0, 10**6))
def test_one_row_moves_one_count_of_every_family_by_one(dag: DAG, seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = random_bayesian_network(dag, rng=rng, states=(1, 3)).sample(8, rng)
    with_all, without = (
        np.concatenate([each.ravel() for each in tables_of_counts(dag, some)])
        for some in (table, table.take(range(7)))
    )
    moved = with_all - without
    assert sorted(moved[moved != 0]) == [1] * dag.n
    assert int((moved**2).sum()) == dag.n  # the squared sensitivity that is paid for
    again = dag.reorder(table.names)
    for node, counts in enumerate(tables_of_counts(dag, table)):
        above = again.parents(node)
        states = [range(table.cardinalities[v]) for v in above]
        for row, configuration in enumerate(product(*states)):
            for state in range(table.cardinalities[node]):
                wanted = sum(
                    tuple(line[list(above)]) == configuration and line[node] == state
                    for line in table.codes
                )
                assert counts[row, state] == wanted


def test_what_is_drawn_is_paid_for_and_becomes_the_tables() -> None:
    asia, rho = load_network("asia"), Fraction(1, 40)
    table = asia.sample(500, np.random.default_rng(0))
    found, release = noisy_network(asia.dag, table, rho=rho, source=Random(1), ess=2.0)
    assert release.rho <= rho
    assert release.squared_sensitivity == asia.dag.n
    place = 0
    for node, cpt in enumerate(found.cpts):
        for row in cpt:
            noisy = [max(0, n) + 2.0 / cpt.size for n in release.noisy[place : place + len(row)]]
            np.testing.assert_allclose(row, np.array(noisy) / sum(noisy), rtol=1e-12)
            place += len(row)
        exact = tables_of_counts(asia.dag, table)[node].ravel().tolist()
        assert list(release.sums[place - len(exact) : place]) == exact
    assert place == len(release.noisy)
    again, _ = noisy_network(asia.dag, table, rho=rho, source=Random(2), ess=2.0)
    assert again != found


def test_what_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    asia = load_network("asia")
    table, source = asia.sample(10, np.random.default_rng(0)), Random(1)
    with pytest.raises(ConfigError, match="ess must be above 0, not 0"):
        noisy_network(asia.dag, table, rho=Fraction(1), source=source, ess=0)
    with pytest.raises(ConfigError, match="ρ above 0"):
        noisy_network(asia.dag, table, rho=Fraction(0), source=source)
    with pytest.raises(StructureError, match="missing"):
        noisy_network(load_network("cancer").dag, table, rho=Fraction(1), source=source)
    numbers = load_network("random-gaussian:3:2:1").sample(5, np.random.default_rng(0))
    with pytest.raises(DataError, match="categorical"):
        noisy_network(DAG.empty(numbers.names), numbers, rho=Fraction(1), source=source)
    monkeypatch.setattr(parameters, "MAX_CELLS", 35)
    with pytest.raises(ConfigError, match="36 counts would need noise, the limit is 35"):
        noisy_network(asia.dag, table, rho=Fraction(1), source=source)
    assert isinstance(table, Dataset)
