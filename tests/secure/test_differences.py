"""What a server can subtract and infer where sites with different columns sum under masks.

Masks cancel over all sites of a cohort, and a site that does not judge adds zeros: the server hears
sums over known sets of sites. Rules that choose these sets question by question give few sites
away, each in its own way; blocks of sites that answer for the same columns do not (decision 028).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbn.arrays import Ints
from fedbn.errors import ConfigError
from fedbn.fusion.inputs import merge_inputs
from fedbn.fusion.union import fuse_inputs
from fedbn.graphs.dag import DAG
from fedbn.secure.answers import answer
from fedbn.secure.blocks import Columns as Answering
from fedbn.secure.blocks import blocks_of
from fedbn.secure.pattern import after, operators_of, pattern_of
from fedbn.secure.requests import (
    CutPath,
    CutRequest,
    OrderRequest,
    OrderState,
    UnionRequest,
    UnionState,
    VoteRequest,
)
from tests.naive_consensus import Matrix, cut, moral
from tests.naive_variables import can_form_blocks, random_sites
from tests.naive_variables import given as as_dags
from tests.secure.differences import Unknown, sites_alone

Columns = list[set[int]]
Judges = Callable[[Columns, int, int, frozenset[int], int], Iterator[Unknown]]


def test_the_search_finds_what_is_there() -> None:
    def over(sites: str, quantity: str = "q") -> set[Unknown]:
        return {Unknown(int(site), quantity) for site in sites}

    assert sites_alone([over("012"), over("01234")], 3) == (3, 4)
    assert sites_alone([over("012"), over("01234")], 2) is None
    assert sites_alone([over("012"), over("01234", "another")], 3) is None
    assert sites_alone([over("01"), over("01"), over("01234")], 2) is None
    assert sites_alone([over("0")], 2) == (0,)


def test_pairs_that_differ_by_enough_sites_are_not_enough() -> None:
    """Three cohorts, each two of which differ by two sites both ways or by two: 5 - 3 - 3 is -1."""
    cohorts = [{0, 1, 2, 3, 4}, {0, 1, 2}, {2, 3, 4}]
    for one, other in combinations(cohorts, 2):
        assert all(len(alone) >= 2 for alone in (one - other, other - one) if alone)
    sums = [{Unknown(site, "rows") for site in cohort} for cohort in cohorts]
    assert sites_alone(sums[:2], 2) is sites_alone(sums[1:], 2) is None
    assert sites_alone(sums, 2) == (2,)


def judges_of_the_specification(
    columns: Columns, x: int, y: int, s: frozenset[int], least: int
) -> Iterator[Unknown]:
    """D4: who has most of S judges, each with what it has of it."""
    seeing = [site for site, own in enumerate(columns) if {x, y} <= own]
    for size in range(len(s), -1, -1):
        found = [site for site in seeing if len(s & columns[site]) >= size]
        if len(found) >= least:
            return (Unknown(site, (x, y, s & columns[site])) for site in found)
    return iter(())


def judges_of_one_set(
    columns: Columns, x: int, y: int, s: frozenset[int], least: int
) -> Iterator[Unknown]:
    """All who judge do so with the same part of S: the largest that enough sites have all of."""
    for size in range(len(s), -1, -1):
        for part in map(frozenset, combinations(sorted(s), size)):
            found = [site for site, own in enumerate(columns) if {x, y} | part <= own]
            if len(found) >= least:
                return (Unknown(site, (x, y, part)) for site in found)
    return iter(())


def first_cuts(seed: int, judges: Judges, least: int) -> list[set[Unknown]]:
    """The sums of the first round of cuts: all valid deletions of G+ of random sites."""
    rng = np.random.default_rng(seed)
    n, r = int(rng.integers(4, 7)), int(rng.integers(3, 8))
    sites = random_sites(rng, n, r, 0.3, 0.5)
    dags, weights = as_dags(sites, n)
    merged = merge_inputs(dags, weights, "union")
    _, _, fused = fuse_inputs(merged)
    arcs = tuple((int(a), int(b)) for a, b in np.argwhere(fused.adjacency))
    columns = [set(site.nodes) for site in sites]
    found = operators_of(pattern_of(arcs, n), 10)
    sums = []
    for number in range(len(found.xy)):
        deletion = found.deletion(number)
        asked = judges(columns, deletion.x, deletion.y, frozenset(deletion.given), least)
        sums.append(set(asked))
    return [each for each in sums if each]


def test_the_judges_of_the_specification_give_few_sites_away() -> None:
    """Who has all of S is too few, so those with less of it judge, too, with what they have. The
    same sites are asked for just that part in another sum: the difference is of the few."""
    caught = [seed for seed in range(40) if sites_alone(
        first_cuts(seed, judges_of_the_specification, 3), 3) is not None]  # fmt: skip
    assert caught
    smallest = [{0, 1, 2, 4}, {0, 1, 2}, {0, 1, 2}, {0, 1, 2}]
    wide = set(judges_of_the_specification(smallest, 0, 1, frozenset({2, 4}), 3))
    narrow = set(judges_of_the_specification(smallest, 0, 1, frozenset({2}), 3))
    assert len({u.site for u in wide ^ narrow}) == 1
    assert sites_alone([wide, narrow], 3) is not None


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 10_000), least=st.integers(2, 4))
def test_judges_with_one_set_give_nobody_away_before_the_first_deletion(
    seed: int, least: int
) -> None:
    """Sums of the same set are the same sum, sums of others have no number in common."""
    sums = first_cuts(seed, judges_of_one_set, least)
    assert all(len({u.site for u in each}) >= least for each in sums)
    assert sites_alone(sums, least) is None


def test_judges_with_one_set_give_few_sites_away_after_a_deletion() -> None:
    """It changes the inputs of the sites that have its ends, and the cuts of these alone: what
    x - y loses by it is the loss of the judges of x - y that have them, here of site 2."""
    columns = [{0, 1}, {0, 1}, {0, 1, 2, 3}, {2, 3}, {2, 3}]
    deleted = (2, 3)

    def cuts(done: bool) -> set[Unknown]:
        asked = judges_of_one_set(columns, 0, 1, frozenset(), 3)
        return {
            Unknown(site, (quantity, done and set(deleted) <= columns[site]))
            for site, quantity in asked
        }

    assert len(cuts(done=True)) == len(cuts(done=False)) == 3
    assert sites_alone([cuts(done=False), cuts(done=True)], 3) is not None


def test_orders_give_few_sites_away() -> None:
    """A variable that is taken out changes the costs at the sites that have it."""
    columns = [{0, 1}, {0, 1}, {0, 1, 2}, {2}, {2}]
    sums = [
        {Unknown(site, (0, frozenset(taken & own))) for site, own in enumerate(columns) if 0 in own}
        for taken in (set[int](), {2})
    ]
    assert sites_alone(sums, 3) is not None


def family_sums(columns: Columns, families: list[set[int]]) -> list[set[Unknown]]:
    """The cells of the tables of families of two-state columns, each over the sites that have it.

    A site's unknown numbers are the counts of its rows by all of its columns.
    """
    sums = []
    for family in families:
        having = [site for site, own in enumerate(columns) if family <= own]
        for states in product((0, 1), repeat=len(family)):
            cell = dict(zip(sorted(family), states, strict=True))
            sums.append(
                {
                    Unknown(site, row)
                    for site in having
                    for row in map(tuple, rows_of(columns[site]))
                    if all(dict(row)[v] == state for v, state in cell.items())
                }
            )
    return sums


def rows_of(columns: set[int]) -> Iterator[list[tuple[int, int]]]:
    """All rows that a site with these columns could have."""
    own = sorted(columns)
    for states in product((0, 1), repeat=len(own)):
        yield list(zip(own, states, strict=True))


def test_counts_of_families_give_single_sites_away() -> None:
    """The table of a family over those who have it, summed to fewer columns, is of other sites than
    the table of these columns: with one site lacking one column the difference is that site's."""
    columns = [{0, 1}, {0, 1}, {0, 1}, {0}]
    assert sites_alone(family_sums(columns, [{0, 1}]), 3) is None
    assert sites_alone(family_sums(columns, [{0, 1}, {0}]), 3) is not None
    same = [{0, 1}] * 4
    assert sites_alone(family_sums(same, [{0, 1}, {0}]), 3) is None


def vote_sums(columns: Columns, least: int) -> list[set[Unknown]]:
    """Votes on every moral edge that at least so many sites could have."""
    sums = []
    for x, y in combinations(sorted(set().union(*columns)), 2):
        seeing = [site for site, own in enumerate(columns) if {x, y} <= own]
        if len(seeing) >= least:
            sums.append({Unknown(site, (x, y)) for site in seeing})
    return sums


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 10_000), least=st.integers(2, 4))
def test_votes_of_one_run_give_nobody_away(seed: int, least: int) -> None:
    rng = np.random.default_rng(seed)
    columns = [set(site.nodes) for site in random_sites(rng, 5, 6, 0.4, 0.5)]
    assert sites_alone(vote_sums(columns, least), least) is None


def test_a_column_that_a_site_drops_between_two_runs_gives_its_votes_away() -> None:
    """The roster is the same, so a rule on rosters sees nothing."""
    before = [{0, 1, 2}] * 5
    after = [{0, 1}, *before[1:]]
    assert sites_alone(vote_sums(before, 3), 3) is sites_alone(vote_sums(after, 3), 3) is None
    found = sites_alone(vote_sums(before, 3) + vote_sums(after, 3), 3)
    assert found is not None
    assert 0 in found


# --- blocks: sites that answer for the same columns ----------------------------------------------


def all_sums(columns: Columns, rng: np.random.Generator) -> list[set[Unknown]]:
    """Sums of every kind: of each site any number that depends on what it has of the question."""
    n, sums = 1 + max(set().union(*columns)), []
    for _ in range(40):
        asked, needed = (set(rng.permutation(n)[: rng.integers(0, n)].tolist()) for _ in range(2))
        judging = rng.integers(0, 3)
        sums.append(
            {
                Unknown(site, (frozenset(needed), frozenset(asked & own)))
                for site, own in enumerate(columns)
                if needed <= own and len(asked & own) >= judging
            }
        )
    return [each for each in sums if each]


@pytest.mark.parametrize("least", [2, 3, 4])
def test_blocks_give_nobody_away_whatever_is_asked(least: int) -> None:
    served = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        sites = random_sites(rng, 5, int(rng.integers(least, 8)), 0.4, 0.5)
        has = {f"s{number}": frozenset(site.nodes) for number, site in enumerate(sites)}
        try:
            found = blocks_of(has, least)
        except ConfigError:
            assert not can_form_blocks(list(has.values()), least)
            continue
        served += 1
        blocks = [set(found[site]) for site in has]
        assert sites_alone(all_sums(blocks, rng), least) is None
    assert served >= 20


def test_the_same_sums_without_blocks_give_few_sites_away() -> None:
    caught = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        columns = [set(site.nodes) for site in random_sites(rng, 5, 6, 0.4, 0.5)]
        caught += sites_alone(all_sums(columns, rng), 3) is not None
    assert caught == 10


@cache
def worlds_of(nodes: tuple[int, ...]) -> tuple[Matrix, ...]:
    """All DAGs over some of three nodes; the others are isolated."""
    found = []
    pairs = list(combinations(nodes, 2))
    for kinds in product((0, 1, 2), repeat=len(pairs)):
        dag = np.zeros((3, 3), bool)
        for (a, b), kind in zip(pairs, kinds, strict=True):
            dag[a, b], dag[b, a] = kind == 1, kind == 2
        if not np.trace(np.linalg.matrix_power(dag.astype(int), 3)):
            found.append(dag)
    return tuple(found)


def known_of_sites(
    columns: Columns, told: Callable[[int, Matrix], Ints]
) -> Iterator[tuple[frozenset[int], ...]]:
    """For everything that a server may hear: for each site which of its DAGs are possible.

    told : what a site with a DAG adds to all sums together.
    """
    own = [worlds_of(tuple(sorted(each))) for each in columns]
    parts = [np.array([told(site, dag) for dag in dags]) for site, dags in enumerate(own)]
    heard: dict[bytes, list[set[int]]] = {}
    for world in product(*(range(len(dags)) for dags in own)):
        total = sum(part[chosen] for part, chosen in zip(parts, world, strict=True))
        possible = heard.setdefault(np.asarray(total).tobytes(), [set() for _ in columns])
        for each, chosen in zip(possible, world, strict=True):
            each.add(chosen)
    for possible in heard.values():
        yield tuple(map(frozenset, possible))


def test_what_subtraction_does_not_find_inference_does() -> None:
    """Votes over all who see a pair, cuts over judges of one set, at least three of them: no
    combination of these sums is of fewer. But an edge is never cut, so if the only site with the
    edge 0 - 1 is none of those that judge it given 2, it is the fourth, and everybody knows."""
    columns: Columns = [{0, 1, 2}, {0, 1, 2}, {0, 1, 2}, {0, 1}]
    cuts = [judges_of_one_set(columns, 0, 1, frozenset(s), 3) for s in ((), (2,))]
    asked = [*map(set, cuts), *vote_sums(columns, 3)]
    assert sites_alone(asked, 3) is None

    def told(site: int, dag: Matrix) -> Ints:
        votes = [int(moral(dag)[a, b]) for a, b in combinations(range(3), 2)]
        given_none, given_all = (cut(dag, 0, 1, s)[0] for s in (set[int](), {2}))
        return np.array([*votes, given_none, given_all if site < 3 else 0])

    own = [worlds_of(tuple(sorted(each))) for each in columns]

    def has_edge(site: int, possible: frozenset[int]) -> set[bool]:
        return {bool(own[site][k][0, 1] or own[site][k][1, 0]) for k in possible}

    alone = [
        possible
        for possible in known_of_sites(columns, told)
        if [has_edge(site, each) for site, each in enumerate(possible)]
        == [{True, False}] * 3 + [{True}]
    ]
    assert alone


def test_what_is_known_of_a_site_is_known_of_its_block() -> None:
    """By its own answers to sums of every kind, over all that two and two sites can have."""
    columns: Columns = [{0, 1, 2}, {0, 1, 2}, {0, 1}, {0, 1}]
    answering = Answering.of([sorted(own) for own in columns], 3, 1)
    complete = ((0, 1), (0, 2), (1, 2))
    p = pattern_of(complete, 3)
    some = operators_of(p, 3).deletion(0)
    after(p, some, 3)  # it is valid
    orders = tuple(OrderState(0, 0, taken, ()) for taken in ((), (2,), (1,), (0, 2)))
    pruned = tuple(UnionState(0, count, (2, 0, 1)) for count in (0, 1))
    requests = [
        OrderRequest(((),), orders),
        UnionRequest(((some,),), pruned),
        CutRequest(complete, 3, (CutPath(False, (), (some,), True),)),
        VoteRequest(None, True),
    ]

    def told(site: int, dag: Matrix) -> Ints:
        own = DAG(("a", "b", "c"), dag)
        return np.concatenate([answer(r, [own], [1], answering, site) for r in requests])

    heard = list(known_of_sites(columns, told))
    assert len(heard) > 100
    for possible in heard:
        assert possible[0] == possible[1]
        assert possible[2] == possible[3]
