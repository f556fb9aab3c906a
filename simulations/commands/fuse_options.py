"""What `fedbn fuse` was asked for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

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


def settings_of(options: FuseOptions) -> dict[str, Any]:
    """What run.json says of the options."""
    names = ("method", "reading", "theta", "k_max", "quorum", "seconds", "robust", "polish")
    return {name.replace("_", "-"): getattr(options, name) for name in names}
