"""Where the tree of sites is cut: at the branches that are populations of their own.

`auto` goes from the root down. Of all branches of a set of sites the one is taken that explains
most (see `one_population`; where rows are not known, of the votes as they are), with at least two
sites in it and outside of it. If the test says that the set is no single population, and the parts
differ in enough pairs (more where all of them lie in one region), the branch is a group of its own
and both parts are looked at again. The test is that of `redrawn` where every site sends several
structures over the same variables, else `coherence`. A set of k of m sites is tested at the level
alpha k / m (Meinshausen 2008, Biometrika 95:265), so that alike sites are split with a probability
of at most alpha, whatever is below.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from fedbn.arrays import Bools, Floats, Indices, Ints
from fedbn.errors import ConfigError
from fedbn.groups.alike_sizes import have_alike_sizes
from fedbn.groups.judged_pairs import pairs_apart
from fedbn.groups.one_population import (
    coherence,
    explained_by_parts,
    explained_by_spans,
    residuals_of,
    some_sites,
)
from fedbn.groups.profiles import SiteProfiles
from fedbn.groups.redrawn import p_of_redrawn
from fedbn.groups.regions import regions_between
from fedbn.groups.requested import requested_groups
from fedbn.groups.size_adjusted import beyond_rows
from fedbn.groups.tree import SiteTree, renumber
from fedbn.wording import count_of

ALPHA = 0.05
"""Nominal level of the test of all sites. Measured: docs/studies/groups.md."""

LEAST_PAIRS = 6.0
"""A set is split only where its parts differ in so many pairs: those that one part has and the
other has not, estimated without bias (u' G u over the contrast's scale). Sites of one population
that take one of two local optima differ in up to 5.9 pairs (insurance, 5,000 rows)."""

LEAST_PAIRS_IN_ONE_REGION = 8.0
"""The same where they all lie in one region of the network (`fedbn.groups.regions`): two local
optima of one population differed in up to 7.0 there (insurance, 5,000 rows)."""

LEAST_PAIRS_REDRAWN = 2.0
"""The same where every site sends several structures: those show both optima."""

LEAST = 2
"""A group of `auto` has at least so many sites."""

SEED = 37
"""Of the test's draws: the same sites give the same groups."""


@dataclass(frozen=True)
class Split:
    """One set of sites that was tested.

    Attributes
    ----------
    part, rest : the sites of the branch and the others, as numbers, ascending.
    p : the p-value, see `one_population`.
    level : of the test at this set.
    pairs : in how many pairs part and rest differ, estimated.
    regions : in how many regions of the network these lie (`fedbn.groups.regions`).
    redrawn : whether the sites' own structures were redrawn.
    """

    part: tuple[int, ...]
    rest: tuple[int, ...]
    p: float
    level: float
    pairs: float
    regions: int = 0
    redrawn: bool = False

    @property
    def made(self) -> bool:
        """Whether the set was split."""
        return self.significant and self.pairs >= self._least

    @property
    def significant(self) -> bool:
        """Whether the test says that the set is no single population."""
        return self.p <= self.level

    @property
    def _least(self) -> float:
        if self.redrawn:
            return LEAST_PAIRS_REDRAWN
        return LEAST_PAIRS_IN_ONE_REGION if self.regions < 2 else LEAST_PAIRS


class Cut(NamedTuple):
    """The group of every site, numbered from 0 by first sites, and the tests that led there."""

    groups: tuple[int, ...]
    splits: tuple[Split, ...] = ()


def cut_of(tree: SiteTree, groups: str) -> Cut:
    """The cut that `--groups` asks for; raises ConfigError as `requested_groups` and `cut_into`."""
    wanted = requested_groups(groups)
    return cut_by_test(tree) if wanted is None else cut_into(tree, wanted)


def cut_into(tree: SiteTree, groups: int) -> Cut:
    """So many branches, at one height of the tree; some may have a single site.

    Raises
    ------
    ConfigError : there are fewer sites.
    """
    if not 1 <= groups <= tree.m:
        raise ConfigError(
            f"there must be 1 to {tree.m} groups of {count_of(tree.m, 'site')}, got {groups}"
        )
    return Cut(tree.cut(groups))


def cut_by_test(tree: SiteTree, alpha: float = ALPHA) -> Cut:
    """The groups that the test finds; one group where it finds no second population."""
    rng = np.random.default_rng(SEED)
    labels = np.zeros(tree.m, np.int64)
    splits: list[Split] = []
    waiting = [np.arange(tree.m)]
    while waiting:
        members = waiting.pop(0)
        split = _best_split(tree, members, alpha, rng)
        if split is None:
            continue
        splits.append(split)
        if split.made:
            labels[list(split.part)] = labels.max() + 1
            waiting += [np.array(split.part), np.array(split.rest)]
    return Cut(renumber(labels), tuple(splits))


def _best_split(
    tree: SiteTree, members: Indices, alpha: float, rng: np.random.Generator
) -> Split | None:
    """The branch of the tree that explains most of these sites, tested; None if there is none."""
    if len(members) < 2 * LEAST or not tree.profiles.is_testable:
        return None
    best = _best_branch(tree, members)
    if best is None:
        return None
    covariate = _covariate(tree.profiles, members, best)
    shares, judges = tree.profiles.shares[members], tree.profiles.judges_among(members)
    residuals = _residuals(tree.profiles, shares, covariate, judges)
    k, m = int(best.sum()), len(best)
    if judges is None:
        differ = float(explained_by_parts(residuals, best[None])[0]) * m / (k * (m - k))
    else:
        differ = pairs_apart(residuals, judges, best)
    redrawn = tree.profiles.several
    if redrawn:
        chosen = some_sites(best, rng)
        own = [tree.profiles.structures_of(int(i)) for i in members[chosen]]
        beyond = partial(_residuals, tree.profiles, covariate=covariate[chosen])
        p = p_of_redrawn(own, beyond, best[chosen], rng)
    else:
        votes = shares.sum(axis=0)
        p = coherence(residuals, tree.profiles.pairs, votes, best, rng)
    regions = regions_between(shares, tree.profiles.pairs, best, judges)
    part, rest = (tuple(int(i) for i in members[side]) for side in (best, ~best))
    return Split(part, rest, p, alpha * len(members) / tree.m, differ, regions, redrawn)


def _best_branch(tree: SiteTree, members: Indices) -> Bools | None:
    """bool [n]: which of the members are in the branch that explains most; None without any."""
    ordered, spans = _branches(tree, members)
    if not len(spans):
        return None
    known = tree.profiles.shows_rows
    covariate = tree.profiles.covariate[members] if known else np.zeros(len(members))
    shares, judges = tree.profiles.shares[members], tree.profiles.judges_among(members)
    seen = _residuals(tree.profiles, shares, covariate, judges)
    start, end = spans[int(np.argmax(explained_by_spans(seen[ordered], spans)))]
    best = np.zeros(len(members), np.bool_)
    best[ordered[start:end]] = True
    return best


def _covariate(profiles: SiteProfiles, members: Indices, part: Bools) -> Floats:
    """float64 [n]: what stands for the members' rows in the test of a split."""
    if profiles.shows_rows or not have_alike_sizes(profiles.shares[members], part):
        return np.asarray(profiles.covariate[members])
    return np.zeros(len(members))


def _residuals(
    profiles: SiteProfiles, shares: Floats, covariate: Floats, judges: Bools | None = None
) -> Floats:
    """Shares of some sites, float64 [k, P], without what goes with these sites' covariate [k]: as
    the tree takes it out where it knows of rows."""
    if profiles.shows_rows:
        return beyond_rows(shares, covariate, judges)
    return residuals_of(shares, covariate)


def _branches(tree: SiteTree, members: Indices) -> tuple[Indices, Ints]:
    """The members in the tree's order, and the branches as spans of it.

    Returns
    -------
    places in `members` [n]; int64 [k, 2], start and end of the branches that have at least `LEAST`
    of the members inside and outside, each once, in the order of the linkage's rows.
    """
    place = np.full(tree.m, -1)
    place[members] = np.arange(len(members))
    order = place[tree.leaves()]
    before = np.concatenate([[0], np.cumsum(order >= 0)])
    spans = before[tree.spans()[tree.m :]]
    sizes = spans[:, 1] - spans[:, 0]
    spans = spans[(sizes >= LEAST) & (sizes <= len(members) - LEAST)]
    _, first = np.unique(spans, axis=0, return_index=True)
    return order[order >= 0], spans[np.sort(first)]
