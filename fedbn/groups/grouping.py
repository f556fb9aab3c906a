"""The groups of a run: the cut of the tree, each group's consensus, and where they differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from fedbn.arrays import Bools
from fedbn.errors import ConfigError
from fedbn.graphs.dag import DAG
from fedbn.graphs.knowledge import Knowledge
from fedbn.groups.core import SharedCore, core_of
from fedbn.groups.cut import ALPHA, Cut, cut_of
from fedbn.groups.differences import Difference, differences_of
from fedbn.groups.families import FamilyDifference
from fedbn.groups.outliers import outliers_of
from fedbn.groups.profiles import SiteStructures, profiles_of
from fedbn.groups.tree import SiteTree, renumber, tree_of
from fedbn.networks.conditional_gaussian import Network
from fedbn.wording import count_of, list_some

Fuse = Callable[[Sequence[SiteStructures]], DAG]


@dataclass(frozen=True, eq=False)
class Grouping:
    """Sites in groups.

    Attributes
    ----------
    structures : of the sites, by label, names sorted.
    tree : over the sites.
    cut : the group of every site, numbered from 0, and the tests.
    outliers : sites that stand alone (`fedbn.groups.outliers`), as numbers, ascending.
    consensuses : of every group, over the variables of all sites, names sorted; a variable that no
        site of a group has is isolated there.
    how : "auto", a number, or "given".
    names : of the groups, where they were given; else empty.
    networks : the consensus of every group with its parameters, None where it has none; empty
        where nobody was asked.
    sources : whose rows the parameters of every group are of, as `run.json` says it; likewise.
    families : what of every variable differs by counts, where they were asked for.
    knowledge : what the consensuses keep, each as far as its group has the variables.
    """

    structures: tuple[SiteStructures, ...]
    tree: SiteTree
    cut: Cut
    outliers: tuple[int, ...]
    consensuses: tuple[DAG, ...]
    how: str
    names: tuple[str, ...] = ()
    networks: tuple[Network | None, ...] = ()
    sources: tuple[Mapping[str, Any], ...] = ()
    families: tuple[FamilyDifference, ...] = ()
    knowledge: Knowledge | None = None

    @property
    def count(self) -> int:
        """The number of groups."""
        return len(self.consensuses)

    def members(self, group: int) -> tuple[str, ...]:
        """The labels of the sites of a group, numbered from 1 as in files and on the terminal.

        Raises
        ------
        ConfigError : there is no such group.
        """
        if not 1 <= group <= self.count:
            raise ConfigError(f"there are groups 1 to {self.count}, not {group}")
        sites = self.tree.profiles.sites
        return tuple(s for s, g in zip(sites, self.cut.groups, strict=True) if g == group - 1)

    def title(self, group: int) -> str:
        """The number of a group, from 1, with its name where it has one."""
        return f"{group} {self.names[group - 1]!r}" if self.names else str(group)

    @cached_property
    def differences(self) -> tuple[Difference, ...]:
        """Where the groups differ."""
        return differences_of(self.cut.groups, self.structures, self.consensuses)

    @cached_property
    def core(self) -> SharedCore:
        """What they share."""
        return core_of(self.consensuses, self.known_in_all)

    @property
    def known_in_all(self) -> Knowledge | None:
        """What the consensuses of all groups keep, and what they share."""
        common = set.intersection(*map(self._names_of, range(1, self.count + 1)))
        return self._known_among(common)

    def known_in(self, group: int) -> Knowledge | None:
        """What the consensus of a group, numbered from 1, keeps."""
        return self._known_among(self._names_of(group))

    def seen_in(self, group: int) -> Bools:
        """bool [n, n]: the pairs that a site of a group, numbered from 1, has both variables of."""
        pairs = zip(self.structures, self.cut.groups, strict=True)
        own = [entry.dags[0].names for entry, g in pairs if g == group - 1]
        has = np.stack([np.isin(self.tree.profiles.names, names) for names in own])
        return np.asarray((has[:, :, None] & has[:, None]).any(axis=0))

    def _known_among(self, names: set[str]) -> Knowledge | None:
        return None if self.knowledge is None else self.knowledge.among(sorted(names))

    def _names_of(self, group: int) -> set[str]:
        """The variables that the sites of a group have."""
        pairs = zip(self.structures, self.cut.groups, strict=True)
        return {name for entry, g in pairs if g == group - 1 for name in entry.dags[0].names}

    def lines(self) -> tuple[str, str, str]:
        """Three lines for the terminal: the groups, how sure, where they differ."""
        sizes = [len(self.members(g)) for g in range(1, self.count + 1)]
        groups = f"{count_of(self.count, 'group')} of {count_of(sum(sizes), 'site')}: " + ", ".join(
            f"{self.title(g)} ({list_some(self.members(g), 4, quoted=False)})"
            for g in range(1, self.count + 1)
        )
        return groups, self._certainty() + self._alone(), self._differ()

    def _certainty(self) -> str:
        if self.how == "given":
            return "The groups were given; nothing was tested."
        if self.how == "auto" and not self.tree.profiles.is_testable:
            return (
                "Nothing was tested: where sites have different variables, all must tell their "
                "numbers of rows."
            )
        if self.how != "auto":
            return f"The number of groups was given, {self.how}; nothing was tested."
        if not self.cut.splits:
            return "Too few sites to test: it takes two groups of at least two."
        first = self.cut.splits[0]
        verdict = "more than one population" if first.made else "no sign of a second population"
        if first.significant and not first.made:
            verdict = "too few pairs: two optima of one learner differ in as many"
        return (
            f"Test whether all sites are one population ({self._of_rows()}): p = {first.p:.3f} "
            f"(level {ALPHA:g}); the two parts differ in {first.pairs:.1f} pairs of variables: "
            f"{verdict}."
        )

    def _of_rows(self) -> str:
        """What the test knows of the sites' rows."""
        profiles = self.tree.profiles
        if profiles.several:
            by = "by several structures of every site"
            if profiles.rows is None and profiles.shows_rows:
                return f"{by}, whose variety takes the place of its number of rows"
            return f"{self._rows_told()}, {by}"
        return self._rows_told()

    def _rows_told(self) -> str:
        if self.tree.profiles.rows is not None:
            return "with the sites' numbers of rows"
        return "without the sites' rows: differences that may be due to them are ignored"

    def _alone(self) -> str:
        labels = [self.tree.profiles.sites[i] for i in self.outliers]
        if not labels:
            return ""
        word = "stands" if len(labels) == 1 else "stand"
        return f" {list_some(labels)} {word} alone: another population, a broken or a hostile site."

    def _differ(self) -> str:
        if self.count == 1:
            return "One group has no differences."
        edges = [d for d in self.differences if d.kind == "edge"]
        sure = sum(d.p_holm <= 0.05 for d in edges)
        turned = len(self.differences) - len(edges)
        return (
            f"The groups differ in {count_of(len(edges), 'edge')} ({sure} significant at .05 by "
            f"Fisher's test with Holm's correction) and in {count_of(turned, 'direction')} of "
            f"shared edges; all share {count_of(self.core.dag.n_edges, 'edge')}.{self._by_counts()}"
        )

    def _by_counts(self) -> str:
        if not self.families:
            return ""
        of = {
            kind: len({row.variable for row in self.families if row.differs == kind})
            for kind in ("structure", "parameters")
        }
        return (
            f" By counts, the parents differ for {count_of(of['structure'], 'variable')}, and only "
            f"the parameters for {count_of(of['parameters'], 'variable')}."
        )


def group_sites(
    structures: Sequence[SiteStructures],
    groups: str,
    fuse: Fuse,
    whole: DAG | None = None,
) -> Grouping:
    """Put sites into groups and fuse every group.

    Parameters
    ----------
    structures : one entry per site, in any order; DAGs over the same names, or over some of those
        of `whole`.
    groups : "auto", or a number, see `fedbn.groups.cut`.
    fuse : the consensus of some sites.
    whole : the consensus of all of them, where it is known: the one group's, then.

    Raises
    ------
    ConfigError, StructureError : see `profiles_of` and `cut_of`.
    """
    ordered = _order_sites(structures)
    tree = tree_of(profiles_of(ordered, whole))
    return _fuse_groups(ordered, tree, cut_of(tree, groups), groups, fuse, whole)


def given_groups(
    structures: Sequence[SiteStructures],
    names: dict[str, str],
    fuse: Fuse,
    whole: DAG | None = None,
) -> Grouping:
    """Groups that are known: site -> name of its group; otherwise as `group_sites`.

    Raises
    ------
    ConfigError : a site has no group, or a group is given for a site that is not there.
    """
    ordered = _order_sites(structures)
    labels = [entry.site for entry in ordered]
    different = sorted(set(labels) ^ set(names))
    if different:
        problem = "has no group" if different[0] in labels else "has a group but is not here"
        raise ConfigError(f"every site must have one group, but {different[0]!r} {problem}")
    known = sorted(set(names.values()))
    numbers = np.array([known.index(names[label]) for label in labels])
    tree = tree_of(profiles_of(ordered, whole))
    cut = Cut(renumber(numbers))
    first = {
        group: names[label] for label, group in zip(labels[::-1], cut.groups[::-1], strict=True)
    }
    grouping = _fuse_groups(ordered, tree, cut, "given", fuse, None)
    return replace(grouping, names=tuple(first[group] for group in sorted(first)))


def _order_sites(structures: Sequence[SiteStructures]) -> tuple[SiteStructures, ...]:
    """By label, with names sorted."""
    return tuple(
        replace(entry, dags=tuple(dag.reorder(sorted(dag.names)) for dag in entry.dags))
        for entry in sorted(structures, key=lambda entry: entry.site)
    )


def _fuse_groups(
    ordered: tuple[SiteStructures, ...],
    tree: SiteTree,
    cut: Cut,
    how: str,
    fuse: Fuse,
    whole: DAG | None,
) -> Grouping:
    count = max(cut.groups) + 1
    if count == 1 and whole is not None:
        consensuses: tuple[DAG, ...] = (whole,)
    else:
        names = tree.profiles.names
        consensuses = tuple(
            fuse([e for e, g in zip(ordered, cut.groups, strict=True) if g == group]).extend(names)
            for group in range(count)
        )
    return Grouping(ordered, tree, cut, outliers_of(tree, cut.groups), consensuses, how)
