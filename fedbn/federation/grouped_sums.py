"""Secure sums of groups of sites that were given: every group is a cohort of its own.

No sum is over sites of two groups, so what `SecureResult` says of a cohort holds of every group by
itself, and a site's `min-cohort` counts the sites of its group. There is no consensus of all sites.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from fedbn.data.schema import Schema
from fedbn.federation.secure_rounds import SecureResult
from fedbn.graphs.dag import DAG
from fedbn.graphs.knowledge import Knowledge
from fedbn.groups.core import SharedCore, core_of
from fedbn.groups.differences import Difference, differences_by_votes, votes_of_sums
from fedbn.networks.conditional_gaussian import Network
from fedbn.networks.parameter_sources import ParameterSources
from fedbn.wording import count_of, list_some


@dataclass(frozen=True)
class GroupOfSums:
    """One group: its name, what its sums gave, and its parameters (None where nobody was asked, or
    nobody gave them)."""

    name: str
    result: SecureResult
    network: Network | None = None
    sources: ParameterSources | None = None


@dataclass(frozen=True, eq=False)
class GroupedSums:
    """The agreed schema of all sites; the groups by their first sites, numbered from 1, each over
    the columns of its own sites; (client, reason) of those that did not match before there were
    cohorts; and what is known of the columns."""

    schema: Schema
    groups: tuple[GroupOfSums, ...]
    refused: tuple[tuple[str, str], ...]
    knowledge: Knowledge | None = None

    @cached_property
    def consensuses(self) -> tuple[DAG, ...]:
        """Of every group, over the columns of all; one that no site of a group has is isolated."""
        names = self.schema.names
        return tuple(group.result.consensus.dag.extend(names) for group in self.groups)

    @cached_property
    def core(self) -> SharedCore:
        """What all groups share."""
        return core_of(self.consensuses, self.known_in_all)

    @property
    def known_in_all(self) -> Knowledge | None:
        """What the consensuses of all groups keep, and what they share."""
        common = set.intersection(*(set(group.result.schema.names) for group in self.groups))
        return None if self.knowledge is None else self.knowledge.among(sorted(common))

    def known_in(self, group: int) -> Knowledge | None:
        """What the consensus of a group, numbered from 1, keeps."""
        names = self.groups[group - 1].result.schema.names
        return None if self.knowledge is None else self.knowledge.among(names)

    @cached_property
    def differences(self) -> tuple[Difference, ...] | None:
        """Where the groups differ, by the summed votes of their sites; None where these do not
        tell how many sites have a mark: they are of moral edges alone, or a site has several
        structures."""
        results = [group.result for group in self.groups]
        if any(r.path is None or r.votes.total != len(r.clients) for r in results):
            return None
        votes = [votes_of_sums(result.votes, self.schema.names) for result in results]
        return differences_by_votes(self.consensuses, votes)

    def lines(self) -> tuple[str, str, str]:
        """Three lines for the terminal, as of groups in the open."""
        sites = sum(len(group.result.clients) for group in self.groups)
        told = ", ".join(
            f"{number} {group.name!r} ({list_some(group.result.clients, 4, quoted=False)})"
            for number, group in enumerate(self.groups, start=1)
        )
        groups = f"{count_of(len(self.groups), 'group')} of {count_of(sites, 'site')}: {told}"
        how = "The groups were given; each is a cohort of its own: no sum is over two of them."
        return groups, how, self._differ()

    def _differ(self) -> str:
        found, core = self.differences, self.core
        if len(self.groups) == 1:
            return "One group has no differences."
        shared = f"all share {count_of(core.dag.n_edges, 'edge')}."
        if found is None:
            return f"{shared[0].upper()}{shared[1:]}"
        edges = [row for row in found if row.kind == "edge"]
        sure = sum(row.p_holm <= 0.05 for row in edges)
        turned = count_of(len(found) - len(edges), "direction")
        return (
            f"The groups differ in {count_of(len(edges), 'edge')} ({sure} significant at .05 by "
            f"Fisher's test with Holm's correction) and in {turned} of shared edges; {shared}"
        )


def numbered_groups(names: Mapping[str, str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The groups of sites, (name, sites), in the order of their first sites; site -> name.

    >>> numbered_groups({"a": "west", "c": "west", "b": "east"})
    (('west', ('a', 'c')), ('east', ('b',)))
    """
    found: dict[str, list[str]] = {}
    for site in sorted(names):
        found.setdefault(names[site], []).append(site)
    return tuple((name, tuple(sites)) for name, sites in found.items())
