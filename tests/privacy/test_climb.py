"""The learner dp-climb and the budget of a run."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbn.data.dataset import Dataset
from fedbn.errors import ConfigError
from fedbn.networks.catalog import load_network
from fedbn.privacy.climb import dp_climb
from fedbn.privacy.dependence import penalty, utility
from fedbn.privacy.mechanism_runs import STOP, Budget
from fedbn.privacy.zcdp import rho_of

RHO = Fraction(rho_of(3, 1e-6))


def asia(rows: int, seed: int = 0) -> Dataset:
    network = load_network("asia")
    return network.sample(rows, np.random.default_rng(seed))


@given(
    rho=st.fractions(Fraction(1, 10_000), 50, max_denominator=10_000),
    draws=st.integers(1, 500),
)
def test_a_budget_charges_no_more_than_it_has(rho: Fraction, draws: int) -> None:
    budget = Budget.of(rho, draws)
    assert Fraction(999, 1000) * rho <= budget.charged <= rho


def test_budgets_that_cannot_be() -> None:
    with pytest.raises(ConfigError, match="ρ above 0"):
        Budget.of(Fraction(0), 3)
    with pytest.raises(ConfigError, match="too small for 10 draws"):
        Budget.of(Fraction(1, 10**20), 10)


def test_the_transcript_says_what_was_drawn_from() -> None:
    """Every utility is that of its twin in the definition, over the noisy number of rows."""
    data = asia(3000)
    dag, transcript = dp_climb(data, rho=RHO, source=Random(1))
    arcs: list[tuple[int, int]] = []
    sizes = data.cardinalities
    for draw in transcript.draws:
        assert draw.candidates[-1] == STOP
        for (x, y), found in list(zip(draw.candidates, draw.utilities, strict=True))[:-1:7]:
            parents = [a for a, b in arcs if b == y]
            strata = int(np.prod(sizes[parents], dtype=np.int64))
            chance = penalty(transcript.rows, strata, int(sizes[x]), int(sizes[y]))
            assert found == utility(data, x, y, parents) - chance
        if draw.candidates[draw.chosen] != STOP:
            arcs.append(draw.candidates[draw.chosen])
    assert {(dag.names[x], dag.names[y]) for x, y in arcs} == set(dag.edges)
    assert transcript.rows != data.n_rows
    assert len(transcript.draws) <= transcript.budget.draws == 12


def test_limits_hold() -> None:
    data = asia(2000)
    dag, transcript = dp_climb(
        data, rho=Fraction(50), source=Random(2), edges=Fraction(1, 2), max_parents=1
    )
    assert dag.n_edges <= len(transcript.draws) <= 4
    assert dag.adjacency.sum(axis=0).max() <= 1


def test_a_table_too_small_for_any_pair_gives_no_arc() -> None:
    """A dependence needs five noisy rows per cell; here there are none, so the one draw stops."""
    dag, transcript = dp_climb(asia(3), rho=Fraction(50), source=Random(3))
    assert dag.n_edges == 0
    assert [draw.candidates for draw in transcript.draws] == [(STOP,)]


def test_the_same_source_gives_the_same_run() -> None:
    data = asia(500)
    first = dp_climb(data, rho=RHO, source=Random(4))
    assert first == dp_climb(data, rho=RHO, source=Random(4))
    assert first != dp_climb(data, rho=RHO, source=Random(5))


def test_with_a_large_budget_it_finds_strong_dependences() -> None:
    dag, _ = dp_climb(asia(20_000), rho=Fraction(100), source=Random(6))
    joined = {frozenset(edge) for edge in dag.edges}
    assert {frozenset(("either", "xray")), frozenset(("bronc", "dysp"))} <= joined
    assert {frozenset(("bronc", "smoke"))} <= joined
