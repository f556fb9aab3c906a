"""A score that can be chosen by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from fedbn.data.dataset import Dataset
    from fedbn.scores.base import TabulatedScore


@dataclass(frozen=True)
class ScoreEntry:
    """A score that can be chosen by name: the kind of data (mixed: any), and how it is made for
    each of some row weights from (data, ess, row weights, MB of memory, threads)."""

    kind: Literal["categorical", "gaussian", "mixed"]
    make: Callable[[Dataset, float, Sequence[float], float, int], tuple[TabulatedScore, ...]]
