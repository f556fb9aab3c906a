"""The fit of the constants of an edge's probability."""

from __future__ import annotations

import numpy as np

from fedbn.consensus.sureness import SURENESS, pairs_of, probabilities
from simulations.studies.strengths.fit import fit_sureness
from tests.consensus.test_sureness import random_votes


def test_the_fit_finds_the_numbers_that_made_the_pairs() -> None:
    numbers = (0.5, 1.5, 0.25, -0.5, 0.3, -0.2, -0.7, 0.1, -0.3, 0.2, -0.1, 0.4)
    rng = np.random.default_rng(1)
    seen = []
    for variables, sites in ((5, 3), (9, 3), (12, 8), (14, 10), (20, 6)):
        pairs = pairs_of(random_votes(variables, sites, rng), sites)
        seen.append((pairs, sites, variables, probabilities(pairs, sites, variables, numbers)))
    assert np.allclose(fit_sureness(seen), numbers, atol=2e-3)
    assert len(SURENESS) == len(numbers)
