"""Mixed BIC over the rows of some sites with different columns, from sums of products.

Every site has the sums of all its own columns. A family needs those of its columns alone, so any
sites that have them can judge it: *shared* and *own* are those of `fedbn.choice.by_scatters`, over
these sites. A family that both refuse, as a member is determined by the others, has the score -inf,
and is in no move (`fedbn.choice.judged`).

Where sites are summed in blocks of the same columns, the judges are the sites of some blocks. Their
sums then are those of these blocks, and the sum of own scores is told, as nobody can compute it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from fedbn.arrays import Ints
from fedbn.choice.by_scatters import scatter_scores, scores_of_family
from fedbn.data.schema import Schema
from fedbn.networks.family_counts import Family
from fedbn.scores.mixed import block_widths
from fedbn.scores.scatter import Scatter, sum_of_scatters


@dataclass(frozen=True, eq=False)
class ScattersOfSites:
    """Scores of families, each over the same sites found once.

    Parameters
    ----------
    schema : the agreed one.
    columns : site -> its columns, as places in the schema.
    scatters : site -> the sums of these columns, in the order of the schema.
    families : those that may be looked at; at least one site has all columns of each.
    found : what was found, which grows.
    """

    schema: Schema
    columns: Mapping[str, frozenset[int]]
    scatters: Mapping[str, Scatter]
    families: frozenset[Family] = frozenset()
    found: dict[tuple[Family, tuple[str, ...]], tuple[float, float]] = field(default_factory=dict)

    def __contains__(self, family: Family, /) -> bool:
        return family in self.families

    def both(self, family: Family, sites: tuple[str, ...]) -> tuple[float, float]:
        """(shared, own) of a family over sites that have it, in nats."""
        key = family, sites
        if key not in self.found:
            self.found[key] = self._both(family, sites)
        return self.found[key]

    def looking_at(self, families: Iterable[Family]) -> ScattersOfSites:
        """The same with more families."""
        return replace(self, families=self.families.union(families))

    def refuses(self, family: Family) -> bool:
        """Whether a family has no score over all sites that have it."""
        sites = tuple(
            s for s in sorted(self.columns) if {family.node, *family.parents} <= self.columns[s]
        )
        return family in self and max(self.both(family, sites)) == -math.inf

    def _both(self, family: Family, sites: tuple[str, ...]) -> tuple[float, float]:
        among, schema, parts = self._parts(family, sites)
        (found,) = scatter_scores(schema, parts).score_all([among]).values()
        return found.shared, found.own

    def _parts(
        self, family: Family, sites: Iterable[str]
    ) -> tuple[Family, Schema, tuple[Scatter, ...]]:
        """The family over its own columns, these, and their sums at some sites."""
        members = sorted({family.node, *family.parents})
        among = Family(members.index(family.node), tuple(map(members.index, family.parents)))
        schema = Schema(tuple(self.schema.variables[v] for v in members))
        return among, schema, tuple(self._part(site, members) for site in sites)

    def _part(self, site: str, members: Sequence[int]) -> Scatter:
        """The sums of some of a site's columns."""
        places, whole = self._places[site], self.scatters[site]
        chosen = np.concatenate([places[v] for v in members])
        return Scatter(whole.rows, whole.products[np.ix_(chosen, chosen)])

    @cached_property
    def _places(self) -> dict[str, dict[int, Ints]]:
        """Site -> column -> where it is in the site's sums."""
        widths = block_widths(self.schema)
        found = {}
        for site in self.scatters:
            own = sorted(self.columns[site])
            ends = np.cumsum([0, *(widths[v] for v in own)])
            found[site] = {
                v: np.arange(start, end)
                for v, start, end in zip(own, ends[:-1], ends[1:], strict=True)
            }
        return found


@dataclass(frozen=True, eq=False)
class ScattersOfBlocks(ScattersOfSites):
    """The same of sums over blocks; `scatters` has those of each at its first site.

    Parameters
    ----------
    told : family -> block, by its first site -> the sum of its sites' own scores, nats; -inf where
        one refuses the family.
    """

    told: Mapping[Family, Mapping[str, float]] = field(default_factory=dict)

    def hearing(self, told: Mapping[Family, Mapping[str, float]]) -> ScattersOfBlocks:
        """The same with the own scores of more families, which may be looked at."""
        return replace(self, told={**self.told, **told}, families=self.families.union(told))

    def _both(self, family: Family, sites: tuple[str, ...]) -> tuple[float, float]:
        blocks = [site for site in sites if site in self.scatters]
        among, schema, parts = self._parts(family, blocks)
        total = sum_of_scatters(parts)
        shared = scatter_scores(schema, [total]).shared_score(among)
        own = math.fsum(self.told[family][block] for block in blocks) if len(sites) > 1 else shared
        found = scores_of_family(shared, own, total.rows)
        return found.shared, found.own
