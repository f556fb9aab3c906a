"""strengths.csv against what is counted by hand."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings

from fedbn.errors import ResultsError
from fedbn.graphs.dag import DAG
from fedbn.graphs.knowledge import Knowledge
from fedbn.results.outcome import Client, Outcome
from fedbn.results.report import write_results
from fedbn.results.strengths import (
    FEWEST,
    STUDIED,
    strength_rows,
    vote_above_threshold,
    write_posterior,
)
from fedbn.results.summary import summarise
from tests import naive, naive_consensus
from tests.results.test_consensus_rows import outcome_of
from tests.strategies import dag_lists

GES = {"learner": "ges", "score": "bdeu"}


@settings(max_examples=20)
@given(dag_lists(min_nodes=2, max_nodes=4, max_dags=4))
def test_every_pair_that_a_site_joins(inputs: list[DAG]) -> None:
    outcome = outcome_of(inputs, [1] * len(inputs))
    rows = {frozenset((row.parent, row.child)): row for row in strength_rows(outcome, GES)}
    names = outcome.consensus.dag.names
    count = sum(naive.skeleton(dag.reorder(names)).astype(int) for dag in inputs)
    wanted = {
        frozenset((names[i], names[j])): count[i, j]
        for i in range(len(names))
        for j in range(i)
        if count[i, j]
    }
    assert {pair: row.sites for pair, row in rows.items()} == wanted
    for row in rows.values():
        assert row.of == len(inputs)
        assert row.bootstrap is row.credible is row.posterior is None
    supports = [int(count[i, j]) for i in range(len(names)) for j in range(i)]
    half = [each for each in supports if 2 * each <= len(inputs)]
    expected = Fraction(max(half) if half else min(supports), len(inputs))
    assert summarise(outcome).inclusion_threshold == expected


@settings(max_examples=20)
@given(dag_lists(min_nodes=2, max_nodes=5, max_dags=6))
def test_pairs_of_alike_sites_have_the_probability_of_the_twin(inputs: list[DAG]) -> None:
    outcome = outcome_of(inputs, [1] * len(inputs))
    rows = strength_rows(outcome, STUDIED)
    if len(inputs) < FEWEST:
        assert all(row.probability is None for row in rows)
        return
    names = outcome.consensus.dag.names
    votes = sum(naive.skeleton(dag.reorder(names)).astype(int) for dag in inputs)
    wanted = naive_consensus.probabilities(np.asarray(votes), len(inputs))
    found = {tuple(sorted(map(names.index, (r.parent, r.child)))): r.probability for r in rows}
    assert found.keys() == wanted.keys()
    for pair, probability in wanted.items():
        assert found[pair] == pytest.approx(min(max(probability, 0.01), 0.99), abs=0.005001)


def test_other_runs_have_no_probability() -> None:
    """Learnt otherwise, more structures of a site, too many sites, other variables, knowledge."""
    chain = DAG.from_edges("abc", ["ab", "bc"])
    studied = outcome_of([chain] * 3, [1] * 3)

    def told(outcome: Outcome, **changed: object) -> set[float | None]:
        own = {**STUDIED, **{key.replace("_", "-"): value for key, value in changed.items()}}
        return {row.probability for row in strength_rows(outcome, own)}

    assert None not in told(studied)
    assert {*told(studied, score="bic"), *told(studied, learner="hc")} == {None}
    assert {*told(studied, ess=2.0), *told(studied, row_weight=2.0)} == {None}
    assert {*told(studied, rounds_limit=2), *told(studied, missing_cells="impute")} == {None}
    assert told(studied, missing_cells="state") == told(studied)
    assert {row.probability for row in strength_rows(studied, {})} == {None}
    assert told(outcome_of([chain] * 4, [1, 1, 2])) == {None}
    assert told(outcome_of([chain] * 21, [1] * 21)) == {None}
    assert None not in told(outcome_of([chain] * 20, [1] * 20))
    some = Client("s2", (DAG.from_edges("ab", ["ab"]),), (Fraction(1),))
    assert told(replace(studied, clients=(*studied.clients[:2], some))) == {None}
    known = replace(studied.path, knowledge=Knowledge(required=(("a", "b"),)))
    assert told(replace(studied, path=known)) == {None}
    assert told(replace(studied, grouping=Mock(consensuses=(chain,)))) == told(studied)
    assert told(replace(studied, grouping=Mock(consensuses=(chain, chain)))) == {None}


def test_shares_within_sites() -> None:
    chain, short = DAG.from_edges("abc", ["ab", "bc"]), DAG.from_edges("abc", ["ab"])
    outcome = outcome_of([chain, chain, short], [1, 2])
    both = Client("s1", (chain, short), (Fraction(3, 4), Fraction(1, 4)))
    outcome = replace(outcome, clients=(outcome.clients[0], both))
    rows = {(r.parent, r.child): r for r in strength_rows(outcome, {"learner": "bootstrap"})}
    assert rows["a", "b"].bootstrap == 1.0
    assert next(r for r in rows.values() if {r.parent, r.child} == {"b", "c"}).bootstrap == 0.875
    assert all(row.credible is None for row in rows.values())


def test_shares_of_any_denominators_have_a_threshold() -> None:
    """Weights of credible or resampled structures: no common scale of them fits into 64 bits."""
    chain, short = DAG.from_edges("abc", ["ab", "bc"]), DAG.from_edges("abc", ["ab"])
    primes = (999_999_937, 999_999_929, 999_999_893)
    clients = tuple(
        Client(f"s{k}", (chain, short), (Fraction(k + 1, prime), 1 - Fraction(k + 1, prime)))
        for k, prime in enumerate(primes)
    )
    outcome = replace(outcome_of([chain, short, chain], [1, 1, 1]), clients=clients)
    threshold, above = vote_above_threshold(outcome)
    assert threshold == 0  # each chain weighs less than half of a millionth
    assert above.edges == (("a", "b"),)


@pytest.mark.slow
def test_the_posterior_is_filled_in_later(tmp_path: Path) -> None:
    chain = DAG.from_edges(("=a", "b", "c"), [("=a", "b"), ("b", "c")])
    short = DAG.from_edges(("=a", "b", "c"), [("=a", "b")])
    out = write_results(outcome_of([chain, short], [1, 1]), tmp_path / "o", run={}, figures=False)
    write_posterior(out, [(chain, 0.25), (short, 0.75)])
    table = pd.read_csv(out / "strengths.csv")
    found = {frozenset((r.parent, r.child)): r.posterior for r in table.itertuples()}
    assert found == {frozenset(("'=a", "b")): 1.0, frozenset(("b", "c")): 0.25}
    (out / "strengths.csv").write_text("x\n1\n")
    with pytest.raises(ResultsError, match="is not as fedbn wrote it"):
        write_posterior(out, [(chain, 1.0)])


def test_what_an_update_adds_takes_the_probabilities_away(tmp_path: Path) -> None:
    """Nobody knows how structures from files were found, whatever the run's settings were."""
    outcome = outcome_of([DAG.from_edges("abc", ["ab", "bc"])] * 3, [1] * 3)
    for added, empty in (([], False), (["new"], True)):
        run = {"settings": STUDIED, "added": added}
        out = write_results(outcome, tmp_path / str(empty), run=run, figures=False)
        table = pd.read_csv(out / "strengths.csv")
        assert table["probability"].isna().all() == empty
        assert len(table) == 2
