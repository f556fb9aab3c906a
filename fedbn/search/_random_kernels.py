"""Random words inside compiled searches."""

from __future__ import annotations

import numpy as np

from fedbn.arrays import Bits
from fedbn.kernel_parts import inner_with_arrays


@inner_with_arrays
def next_random(state: Bits) -> np.uint64:
    """The next word of SplitMix64; `state` [1] moves on."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.uint64(z ^ (z >> np.uint64(31)))
