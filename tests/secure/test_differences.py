"""What a server could subtract if sites with different columns summed under masks.

Masks cancel over all sites of a cohort, and a site that does not judge would add zeros: the server
hears sums over known sets of sites. `variables = union` is refused under masks; these tests say why
(docs/different-variables.md), and which rule for cuts would not give fewer than `least` sites away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbn.errors import ConfigError
from fedbn.federation.settings import ConsensusSettings
from fedbn.fusion.inputs import merge_inputs
from fedbn.fusion.union import fuse_inputs
from fedbn.secure.pattern import operators_of, pattern_of
from tests.naive_variables import given as as_dags
from tests.naive_variables import random_sites
from tests.secure.differences import Unknown, sites_alone

Columns = list[set[int]]
Judges = Callable[[Columns, int, int, frozenset[int], int], Iterator[Unknown]]


@pytest.mark.parametrize("aggregation", ["secure-sums", "moral-votes"])
def test_masks_are_refused_where_sites_have_different_columns(aggregation: str) -> None:
    with pytest.raises(ConfigError, match=f"does not go with aggregation = {aggregation}"):
        ConsensusSettings(variables="union", aggregation=aggregation)


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
def test_judges_with_one_set_give_nobody_away(seed: int, least: int) -> None:
    """Sums of the same set are the same sum, sums of others have no number in common."""
    sums = first_cuts(seed, judges_of_one_set, least)
    assert all(len({u.site for u in each}) >= least for each in sums)
    assert sites_alone(sums, least) is None


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
