"""Credible DAGs drawn with probability proportional to their weight exp(-excess).

Nothing is listed: the excess of each component is drawn from its profile, given what the others
leave of the budget; then one of its DAGs with that excess, descending the diagram by its counts.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fedbn.credible.enumerate import CredibleSet, combine, cumulative_weight
from fedbn.graphs.dag import DAG


def sample_dags(credible: CredibleSet, rng: np.random.Generator) -> Iterator[DAG]:
    """Independent draws without end.

    Excesses closer than 1e-9 count as equal.
    """
    profiles = [part.profile for part in credible.parts]
    after = [
        cumulative_weight(combine(profiles[k + 1 :], credible.budget)) for k in range(len(profiles))
    ]
    weights = [
        np.array([float(c) for c in profile.count]) * np.exp(-profile.value) for profile in profiles
    ]
    while True:
        left = credible.budget
        rows = []
        for part, profile, weight, (value, others) in zip(
            credible.parts, profiles, weights, after, strict=True
        ):
            allowed = np.searchsorted(value, left - profile.value, side="right") - 1
            shares = np.where(allowed < 0, 0.0, weight * others[allowed])
            at = rng.choice(len(shares), p=shares / shares.sum())
            rows.append(part.draw(float(profile.value[at]), rng))
            left -= float(profile.value[at])
        yield credible.dag_of(rows)
