"""Choosing by counts against the same done with all tables in one place."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from fedbn.choice.by_counts import begin, choice_of, climb_on, counted_of
from fedbn.choice.candidates import (
    Candidate,
    CandidateLimits,
    Candidates,
    candidates_of,
    cells_of,
)
from fedbn.choice.neighbours import joined_pairs, neighbours
from fedbn.choice.prior import FREE, EdgePrior
from fedbn.consensus.mcbnc import mcbnc_path
from fedbn.consensus.threshold import path_states
from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema
from fedbn.graphs.dag import DAG
from fedbn.networks.family_counts import Family, count_families, families_of
from fedbn.networks.fitting import fit_parameters, parameters_of
from fedbn.scores import make_score, total_score
from fedbn.scores.family_scores import family_scores, own_scores
from tests import naive_choice_by_counts as naive
from tests.choice.cases import Federation, federation
from tests.naive import all_dags


@pytest.fixture(scope="module")
def asia() -> Federation:
    return federation("asia", sites=4, rows=300, seed=1)


def classes_of(case: Federation) -> list:
    return [(fused.row_weight, path_states(fused.path)) for fused in case.result.classes]


def taken(case: Federation) -> Candidate:
    """What the structures alone chose."""
    consensus = case.result.consensus
    return Candidate(case.result.row_weight, consensus.state, consensus.dag)


def summed(tables: list[Dataset], families) -> tuple:
    """Schema, and what the server knows after one request."""
    counts = [count_families(table, families) for table in tables]
    total, own = counts[0], own_scores(counts[0])
    for each in counts[1:]:
        total, own = total + each, own + own_scores(each)
    return tables[0].schema, counted_of(total, family_scores(total, own))


def test_candidates_are_the_distinct_states_of_all_classes(asia: Federation) -> None:
    found = candidates_of(classes_of(asia), asia.result.schema, taken(asia))
    expected = {state.dag for _, states in classes_of(asia) for state in states}
    expected.add(asia.result.consensus.dag)
    assert {candidate.dag for candidate in found.listed} == expected
    assert len(found.listed) == len(expected)
    assert found.left_out == found.uncounted == ()
    assert set(found.families) == set(families_of([*expected, DAG.empty(asia.result.schema.names)]))
    weights = [candidate.row_weight for candidate in found.listed]
    assert weights == sorted(weights)


def limited(case: Federation, **limits: int) -> Candidates:
    return candidates_of(
        classes_of(case), case.result.schema, taken(case), CandidateLimits(**limits)
    )


def parts_of(candidates: Candidates) -> set[Family]:
    """The variables of the families that are left out, with each of their parents alone."""
    return {Family(node, (one,)) for node, parents in candidates.left_out for one in parents}


def test_parents_of_families_that_are_left_out_are_asked_for_one_by_one(asia: Federation) -> None:
    """Before the other candidates, until half of the room is taken."""
    schema, consensus = asia.result.schema, asia.result.consensus.dag
    own = set(families_of([consensus, DAG.empty(consensus.names)]))
    of_own = sum(cells_of(schema, family) for family in own)
    for room in (2 * of_own, 3 * of_own, 4 * of_own):
        found = limited(asia, cells=room)
        assert found.left_out
        assert own <= set(found.families)
        first = own | {family for family in found.families if len(family.parents) == 1}
        taken_by_first = sum(cells_of(schema, family) for family in first)
        assert room < 2 * taken_by_first < 2 * room


def test_further_families_are_asked_for_where_there_is_room(asia: Federation) -> None:
    of = classes_of(asia), asia.result.schema, taken(asia)
    plain = candidates_of(*of)
    full = DAG(plain.listed[0].dag.names, np.triu(np.ones((8, 8), dtype=bool), k=1))
    most = max(len(each.parents) for each in plain.families)
    many = [each for each in families_of([full]) if len(each.parents) > most]
    others = [each for each in families_of([full]) if each not in {*plain.families, *many}]
    assert others
    assert many
    found = candidates_of(*of, more=[*many, *plain.families, *others])
    assert found.families == tuple(sorted({*plain.families, *others}))
    assert [each.dag for each in found.listed] == [each.dag for each in plain.listed]
    room = sum(cells_of(asia.result.schema, each) for each in plain.families)
    tight = candidates_of(*of, CandidateLimits(cells=room), more=others)
    assert (tight.families, tight.left_out) == (plain.families, ())
    every = [
        Family(node, tuple(sorted({*rest})))
        for node in range(8)
        for size in (2, 3)
        for rest in combinations({*range(8)} - {node}, size)
    ]
    assert len(candidates_of(*of, more=every).families) == 2 * len(plain.families)


def test_limits_leave_families_out_and_name_them(asia: Federation) -> None:
    whole = limited(asia)
    few = limited(asia, max_candidates=3)
    assert len(few.listed) == 3
    assert set(few.families) | set(few.left_out) == set(whole.families) | parts_of(few)
    small = limited(asia, family_cells=4, state_cells=4, consensus_cells=4)
    sizes = {family: len(family.parents) for family in whole.families}
    single = {family for family, parents in sizes.items() if parents < 2}
    assert set(small.families) == single | parts_of(small)
    assert set(small.left_out) == {family for family, parents in sizes.items() if parents >= 2}
    assert small.listed[0].dag in {candidate.dag for candidate in whole.listed}


def test_families_of_the_consensus_are_left_out_last(asia: Federation) -> None:
    found = limited(asia, family_cells=4, state_cells=4)
    assert found.uncounted == ()
    own = set(families_of([asia.result.consensus.dag]))
    assert own <= set(found.families)
    assert {len(family.parents) for family in set(found.families) - own} <= {0, 1}


def test_what_cannot_be_counted_stays_as_the_structures_have_it(asia: Federation) -> None:
    """A variable with two parents in the consensus cannot be counted; others are chosen."""
    candidates = limited(asia, family_cells=4, state_cells=4, consensus_cells=4)
    consensus = asia.result.consensus.dag
    large = {family for family in families_of([consensus]) if len(family.parents) > 1}
    assert large
    assert set(candidates.uncounted) == large
    tables = list(asia.tables.values())
    state = begin(candidates, *summed(tables, candidates.families), np.random.default_rng(0))
    choice = choice_of(state, candidates, {tuple(asia.tables): 1_200})
    assert large <= set(families_of([choice.dag]))
    assert set(choice.uncounted) == large
    counted = set(families_of([choice.dag])) - large
    assert set(choice.counts.tables.families) == counted
    assert len(choice.mechanisms) == len(counted)
    expected = sum(max(naive.family_score(tables, asia.pooled, *each, 1.0)) for each in counted)
    assert choice.score == pytest.approx(expected, abs=1e-4)
    pairs = joined_pairs(dag for reply in asia.replies for dag in reply.dags)
    asked = neighbours(state, pairs, CandidateLimits(family_cells=4, state_cells=4))
    assert not {family.node for family in asked} & {family.node for family in large}


def test_columns_of_many_states_lose_no_edge() -> None:
    """Five sites of 6,000 rows, 150 states, b = a in 90 % of the rows: 22,500 cells."""
    rng = np.random.default_rng(2)
    states = [f"{s:03d}" for s in range(150)]
    schema = Schema.categorical({"a": states, "b": states})
    tables = []
    for _ in range(5):
        a, b = rng.integers(0, 150, (2, 6_000))
        b = np.where(rng.random(6_000) < 0.9, a, b)
        tables.append(Dataset(schema, np.stack([a, b], axis=1)))
    edge = DAG.from_edges("ab", ["ab"])
    path = mcbnc_path([edge] * 5)
    state = path_states(path)[0]
    candidates = candidates_of([(1.0, path_states(path))], schema, Candidate(1.0, state, edge))
    begun = begin(candidates, *summed(tables, candidates.families), rng)
    assert begun.dag.adjacency.sum() == 1
    tight = CandidateLimits(state_cells=20_000, consensus_cells=20_000)
    candidates = candidates_of(
        [(1.0, path_states(path))], schema, Candidate(1.0, state, edge), tight
    )
    begun = begin(candidates, *summed(tables, candidates.families), rng)
    assert begun.dag == edge
    assert candidates.uncounted == (Family(1, (0,)),)


def test_chosen_is_never_below_the_best_candidate_of_the_twin(asia: Federation) -> None:
    candidates = candidates_of(classes_of(asia), asia.result.schema, taken(asia))
    tables = list(asia.tables.values())
    state = begin(candidates, *summed(tables, candidates.families), np.random.default_rng(0))
    totals = {c.dag: naive.total(tables, asia.pooled, c.dag, 1.0) for c in candidates.listed}
    choice = choice_of(state, candidates, {tuple(asia.tables): 1_200})
    assert choice.candidate_score == pytest.approx(max(totals.values()), abs=1e-4)
    assert totals[state.candidate.dag] == pytest.approx(max(totals.values()), abs=1e-4)
    assert state.value == choice.score >= choice.candidate_score - 1e-6
    assert state.value == pytest.approx(naive.total(tables, asia.pooled, state.dag, 1.0), abs=1e-4)


@pytest.mark.parametrize("pairs", [0, 6, 60])
@pytest.mark.parametrize("seed", [0, 1, 2, 3, 175])
def test_with_all_families_known_it_finds_the_best_of_all_dags(seed: int, pairs: int) -> None:
    """Exhaustive: the families of every DAG over four variables are known. Where edges cost
    nothing, the best; else one that no other at the last price of an edge beats."""
    rng = np.random.default_rng(seed)
    schema = Schema.categorical({f"v{i}": [str(s) for s in range(2 + i % 2)] for i in range(4)})
    tables = []
    for _ in range(2):
        codes = rng.integers(0, 2, (40, 4))
        codes[:, 2] = np.where(rng.random(40) < 0.7, codes[:, 0], codes[:, 2])
        codes[:, 3] = np.where(rng.random(40) < 0.7, codes[:, 1] ^ codes[:, 2], codes[:, 3])
        tables.append(Dataset(schema, codes))
    pooled = Dataset(schema, np.concatenate([table.codes for table in tables]))
    every = all_dags(4)
    lone = _candidate(every[0])
    candidates = Candidates((lone,), families_of(every))
    prior = EdgePrior(pairs)
    state = begin(candidates, *summed(tables, candidates.families), rng, prior=prior)
    score = {
        family: max(naive.family_score(tables, pooled, *family, 1.0))
        for family in candidates.families
    }
    totals = {dag: sum(score[family] for family in families_of([dag])) for dag in every}
    reached = totals[state.dag]
    assert state.value == pytest.approx(reached - prior.of(state.dag.n_edges), abs=1e-4)
    price = prior.an_edge(state.dag.n_edges)
    best = max(total - price * dag.n_edges for dag, total in totals.items())
    assert reached - price * state.dag.n_edges == pytest.approx(best, abs=1e-4)
    choice = choice_of(state, candidates, {("one", "two"): 2})
    assert choice.score == pytest.approx(totals[state.dag], abs=1e-4)


def _candidate(dag: DAG) -> Candidate:
    return Candidate(1.0, path_states(mcbnc_path([dag]))[0], dag)


def test_neighbours_are_over_pairs_that_are_joined_or_near_in_the_structure(
    asia: Federation,
) -> None:
    dag = asia.result.consensus.dag
    candidates = Candidates((_candidate(dag),), families_of([dag]))
    tables = list(asia.tables.values())
    state = begin(candidates, *summed(tables, candidates.families), np.random.default_rng(0))
    pairs = joined_pairs(dag for reply in asia.replies for dag in reply.dags)
    found = neighbours(state, pairs)
    assert not set(found) & set(state.known)
    parents = {node: set(own) for node, own in enumerate(dag.parent_sets())}
    expected = set()
    for node in range(dag.n):
        for other in range(dag.n):
            if pairs[node, other] or other in parents[node]:
                changed = parents[node] ^ {other}
                expected.add(Family(node, tuple(sorted(changed))))
    assert expected - set(state.known) <= set(found)
    near = joined_pairs([dag]).astype(int)
    allowed = pairs | (near + near @ near > 0)
    assert all(allowed[family.node, p] for family in found for p in family.parents)
    assert any(len(family.parents) > len(parents[family.node]) + 1 for family in found)


@pytest.mark.parametrize("prior", [FREE, EdgePrior.over(8), EdgePrior(200)])
def test_a_climb_ends_where_no_change_helps(asia: Federation, prior: EdgePrior) -> None:
    """From the empty graph: rounds of neighbours until nothing is better; the end is a local
    optimum of the twin's score less what its number of edges costs."""
    empty = DAG.empty(asia.result.schema.names)
    candidates = Candidates((_candidate(empty),), families_of([empty]))
    tables = list(asia.tables.values())
    rng = np.random.default_rng(0)
    state = begin(candidates, *summed(tables, candidates.families), rng, prior=prior)
    pairs = joined_pairs(dag for reply in asia.replies for dag in reply.dags)
    values = [state.value]
    while not state.done:
        families = neighbours(state, pairs)
        if not families:
            break
        state = climb_on(state, summed(tables, families)[1], rng)
        values.append(state.value)
    assert values == sorted(values)

    def value_of(dag: DAG) -> float:
        return naive.total(tables, asia.pooled, dag, 1.0) - prior.of(dag.n_edges)

    best = value_of(state.dag)
    assert values[-1] == pytest.approx(best, abs=1e-4)
    for x, y in np.argwhere(pairs).tolist():
        matrix = state.dag.adjacency.copy()
        matrix[x, y] = not matrix[x, y]
        try:
            other = DAG(state.dag.names, matrix)
        except ValueError:
            continue
        assert value_of(other) <= best + 1e-4


def test_the_choice_has_the_shared_tables_of_all_rows(asia: Federation) -> None:
    candidates = candidates_of(classes_of(asia), asia.result.schema, taken(asia))
    tables = list(asia.tables.values())
    state = begin(candidates, *summed(tables, candidates.families), np.random.default_rng(0))
    choice = choice_of(state, candidates, {tuple(asia.tables): 1_200})
    network = parameters_of(choice.dag, choice.counts)
    whole = fit_parameters(choice.dag, asia.pooled)
    assert all(np.array_equal(a, b) for a, b in zip(network.cpts, whole.cpts, strict=True))
    assert choice.counts.rows == asia.pooled.n_rows
    assert [each.variable for each in choice.mechanisms] == list(choice.dag.names)


def test_where_sites_are_alike_the_score_is_the_pooled_one(asia: Federation) -> None:
    candidates = candidates_of(classes_of(asia), asia.result.schema, taken(asia))
    tables = list(asia.tables.values())
    state = begin(candidates, *summed(tables, candidates.families), np.random.default_rng(0))
    choice = choice_of(state, candidates, {tuple(asia.tables): 1_200})
    assert all(each.shared for each in choice.mechanisms)
    pooled = make_score("bdeu", asia.pooled)
    assert choice.score == pytest.approx(total_score(pooled, choice.dag), rel=1e-9)
