"""What `fedbn fuse` was asked for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from fedbn.errors import ConfigError
from fedbn.setting import (
    Setting,
    Settings,
    at_least,
    positive,
    require_one_of,
    setting,
    settings_of,
)

if TYPE_CHECKING:
    from fedbn.graphs.knowledge import Knowledge


@dataclass(frozen=True)
class FuseOptions(Settings):
    """What the command was asked for."""

    method: str = setting(
        "mcbnc",
        "mcbnc, or to compare with: union (all edges of the inputs' minimal I-maps), intersection, "
        "vote (edges that enough inputs have), median (local optimum of the mean SMHD), "
        "genetic-union and genetic-inputs (treewidth at most 5).",
        flags=("--method", "--fusion"),
    )
    reading: str = setting(
        "best",
        "How a state of the path (the fused graph after some deletions) becomes a structure: "
        "search (as the search left it), refusion (the inputs as pruned by these deletions, fused "
        "again, as in the paper's figures), or the better of both (best). With best, structures "
        "that are far from what the others agree on are ignored.",
    )
    theta: str | None = setting(
        None,
        "Use the state at this θ (0.5, 2/3) instead of what is nearest to the inputs: an edge is "
        "deleted if cutting it takes at most θ edges per input, on average.",
    )
    k_max: int = setting(
        10,
        "Maximum size of the set H of a deletion: the neighbours that it turns into children.",
        at_least(0),
    )
    quorum: int = setting(
        1,
        "Keep an arc in the fusion only if at least this many structures have it; above 1 the "
        "fusion is no longer the union. For hundreds of structures with rare arcs of their own.",
        at_least(1),
    )
    seconds: float | None = setting(
        600.0,
        "Time limit of order, I-maps and deletions, in seconds. At its end the best state so far, "
        "or the edge vote of the inputs, is the result, marked as incomplete.",
        positive,
        flags=("--seconds", "--consensus-seconds"),
    )
    robust: str = setting(
        "best",
        "How the minimum cuts of the inputs become one criticality of an edge: mean (as in the "
        "paper), clip (each cut counts at most 1, against hostile inputs), median, or the better "
        "result of mean and clip (best).",
    )
    groups: str = setting(
        "no",
        "Groups of structures, each with a consensus of its own, and where they differ: no, auto "
        "(as many as a test finds) or their number. With --variables union, auto needs "
        "--site-rows.",
    )
    groups_file: Path | None = setting(None, "The groups, if they are known: CSV with site,group.")
    site_rows: str | None = setting(
        None,
        "Numbers of rows behind the DAGs, separated by commas: 500,1200,800. --groups auto then "
        "allows for differences that come from fewer rows, and finds more groups.",
    )
    max_treewidth: int | None = setting(
        None,
        "Maximum treewidth of the consensus, so that exact inference stays possible.",
        at_least(0),
        shown="no limit",
    )
    variables: str = setting(
        "same",
        "same: all structures must be over the same variables; union: they may be over different "
        "ones, and a structure that lacks a variable has no vote on its edges.",
    )
    min_sites: int = setting(
        1,
        "With --variables union: minimum number of structures over each variable.",
        at_least(1),
    )
    min_judges: int = setting(
        1,
        "With --variables union: minimum number of structures that judge a separation. Where fewer "
        "are over all variables of the separating set, structures over some of them judge it as "
        "well.",
        at_least(1),
    )
    knowledge: Path | None = setting(
        None,
        "A .json or .toml file with required edges, forbidden edges and tiers. The consensus obeys "
        "them.",
    )
    polish: bool = setting(
        False, "At the end, lower the mean SMHD to the inputs by changes of single edges."
    )
    random_ties: bool = setting(False, "Break ties at random (see --seed), not by name.")
    steps: bool = setting(False, "With --json: include the order and every deletion.")
    explain: bool = setting(
        False,
        "Show for every pair which inputs have it and when it was deleted, and for every client "
        "its distance to the consensus. --out writes both as edges.csv and clients.csv.",
    )
    seed: int = 1
    out: Path | None = None
    as_json: bool = False
    quiet: bool = False
    files: tuple[Path, ...] = ()

    @cached_property
    def known(self) -> Knowledge | None:
        """What the file of knowledge says; raises ConfigError."""
        from fedbn.graphs.knowledge import read_knowledge

        return None if self.knowledge is None else read_knowledge(self.knowledge)

    def require_possible(self, n_inputs: int) -> None:
        """Check what MCBNC is told before anything is loaded; raises ConfigError."""
        from fedbn.consensus.path import as_threshold
        from fedbn.consensus.pooling import Robust, poolings_of
        from fedbn.consensus.threshold import READINGS
        from fedbn.federation.settings import ConsensusSettings
        from fedbn.groups.requested import requested_groups

        if self.groups != "no" and self.groups_file is not None:
            raise ConfigError("--groups finds groups and --groups-file gives them: use one of them")
        if (requested_groups(self.groups) or 1) > n_inputs:
            raise ConfigError(
                f"--groups must be at most the number of structures, {n_inputs}, not {self.groups}"
            )
        ConsensusSettings(
            variables=self.variables,
            min_sites=self.min_sites,
            min_judges=self.min_judges,
            groups=self.groups,
            groups_file=None if self.groups_file is None else str(self.groups_file),
            quorum=self.quorum,
            known=self.known,
        )
        self.rows_of(n_inputs)
        require_one_of("reading", self.reading, READINGS)
        poolings_of(cast(Robust, self.robust))
        if self.theta is not None:
            as_threshold(self.theta)
        if self.quorum > n_inputs:
            raise ConfigError(
                f"--quorum must be at most the number of structures, {n_inputs}, not {self.quorum}"
            )

    def rows_of(self, n_inputs: int) -> tuple[int | None, ...]:
        """The rows behind each structure, None where they are not told; raises ConfigError."""
        if self.site_rows is None:
            return (None,) * n_inputs
        parts = [part.strip() for part in self.site_rows.split(",")]
        if len(parts) != n_inputs or not all(p.isascii() and p.isdigit() and int(p) for p in parts):
            raise ConfigError(
                f"--site-rows must be one number above 0 for each of the {n_inputs} structures, "
                f"separated by commas, not {self.site_rows!r}"
            )
        return tuple(int(part) for part in parts)


def fuse_settings() -> list[tuple[str | None, Setting]]:
    """What `fuse` takes; no panel of the help has a name."""
    return [(None, each) for each in settings_of(FuseOptions)]


def settings_record(options: FuseOptions) -> dict[str, Any]:
    """What run.json says of the options."""
    names: tuple[str, ...] = (
        "method",
        "reading",
        "theta",
        "k_max",
        "quorum",
        "seconds",
        "robust",
        "polish",
        "groups",
        "max_treewidth",
    )
    if options.variables != "same":
        names = (*names, "variables", "min_sites", "min_judges")
    told = {name.replace("_", "-"): getattr(options, name) for name in names}
    return told if options.known is None else told | {"knowledge": options.known.text}
