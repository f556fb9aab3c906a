"""How many DAGs have each excess over the optimum."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedbn.arrays import Floats


@dataclass(frozen=True)
class Profile:
    """How many DAGs have each excess over the optimum.

    value [K] ascending, count [K] Python integers.
    """

    value: Floats
    count: tuple[int, ...]

    def within(self, budget: float) -> int:
        """The number of DAGs whose excess is at most `budget`."""
        last = int(np.searchsorted(self.value, budget, side="right"))
        return sum(self.count[:last])
