"""The consensus of a group, by the settings of the whole run."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from fedbn.consensus.mcbnc import mcbnc_paths
from fedbn.consensus.pooling import Robust, poolings_of, select_among
from fedbn.consensus.threshold import Reading
from fedbn.fusion.inputs import Variables
from fedbn.fusion.weights import UNITS_PER_CLIENT, integer_weights
from fedbn.graphs.dag import DAG
from fedbn.graphs.knowledge import Knowledge
from fedbn.groups.profiles import SiteStructures


@dataclass(frozen=True)
class GroupFusion:
    """MCBNC as the run's consensus is made; see `mcbnc_paths` and `select_among`.

    A quorum above the number of a group's structures is that number.
    """

    reading: Reading = "best"
    robust: Robust = "best"
    k_max: int = 10
    quorum: int = 1
    seconds: float | None = None
    theta: str | None = None
    known: Knowledge | None = None
    max_treewidth: int | None = None
    variables: Variables = "same"
    min_judges: int = 1
    by_judges: bool = True

    def __call__(self, structures: Sequence[SiteStructures]) -> DAG:
        """The consensus of some sites, over the variables of these, names sorted; it keeps what is
        known among them. Raises what these two raise."""
        units = integer_weights(
            [[float(share) for share in entry.shares] for entry in structures],
            [entry.dags for entry in structures],
        )
        weighted = [
            (dag, Fraction(unit, UNITS_PER_CLIENT) * sum(entry.shares), entry.site)
            for entry, of_site in zip(structures, units, strict=True)
            for dag, unit in zip(entry.dags, of_site, strict=True)
            if unit > 0
        ]
        names = sorted({name for dag, _, _ in weighted for name in dag.names})
        end = None if self.seconds is None else time.monotonic() + self.seconds
        paths = mcbnc_paths(
            [dag for dag, _, _ in weighted],
            [weight for _, weight, _ in weighted],
            poolings_of(self.robust),
            k_max=self.k_max,
            quorum=min(self.quorum, len(weighted)),
            seconds=self.seconds,
            knowledge=None if self.known is None else self.known.among(names),
            variables=self.variables,
            min_judges=self.min_judges,
            sites=[site for _, _, site in weighted],
        )
        width, judges = self.max_treewidth, self.by_judges
        return select_among(paths, self.reading, self.theta, width, end, judges)[1].dag
