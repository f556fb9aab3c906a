"""What `fedbn fuse` was asked for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedbn.consensus.path import as_threshold
from fedbn.consensus.pooling import poolings_of
from fedbn.consensus.threshold import READINGS
from fedbn.errors import ConfigError
from fedbn.federation.settings import ConsensusSettings
from fedbn.graphs.knowledge import read_knowledge
from fedbn.groups.requested import requested_groups
from fedbn.setting import require_one_of

if TYPE_CHECKING:
    from fedbn.graphs.knowledge import Knowledge

__all__ = ["FuseOptions", "settings_of"]


@dataclass(frozen=True)
class FuseOptions:
    """What the command was asked for; see its help."""

    method: str = "mcbnc"
    reading: Any = "best"
    theta: str | None = None
    k_max: int = 10
    quorum: int = 1
    seconds: float | None = 600.0
    robust: Any = "best"
    polish: bool = False
    seed: int = 1
    random_ties: bool = False
    steps: bool = False
    explain: bool = False
    out: Path | None = None
    as_json: bool = False
    quiet: bool = False
    files: tuple[Path, ...] = ()
    groups: str = "no"
    groups_file: Path | None = None
    site_rows: str | None = None
    knowledge: Path | None = None
    max_treewidth: int | None = None
    variables: Any = "same"
    min_sites: int = 1
    min_judges: int = 1

    @cached_property
    def known(self) -> Knowledge | None:
        """What the file of knowledge says; raises ConfigError."""
        return None if self.knowledge is None else read_knowledge(self.knowledge)

    def require_possible(self, n_inputs: int) -> None:
        """Check what MCBNC is told before anything is loaded; raises ConfigError."""
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
        poolings_of(self.robust)
        if self.theta is not None:
            as_threshold(self.theta)
        if self.quorum > n_inputs:
            raise ConfigError(
                f"--quorum must be at most the number of structures, {n_inputs}, not {self.quorum}"
            )
        if self.seconds is not None and not self.seconds > 0.0:
            raise ConfigError(f"--seconds must be positive, not {self.seconds:g}")

    def rows_of(self, n_inputs: int) -> tuple[int | None, ...]:
        """The rows behind each structure, None where they are not told; raises ConfigError."""
        if self.site_rows is None:
            return (None,) * n_inputs
        parts = [part.strip() for part in self.site_rows.split(",")]
        if len(parts) != n_inputs or not all(p.isascii() and p.isdigit() and int(p) for p in parts):
            raise ConfigError(
                f"--site-rows must be one number above 0 for each of the {n_inputs} structures, "
                f"with commas, not {self.site_rows!r}"
            )
        return tuple(int(part) for part in parts)


def settings_of(options: FuseOptions) -> dict[str, Any]:
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
