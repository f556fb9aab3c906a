"""Is there more than one population? The test where every site sends several structures.

Structures of bootstrap samples, or those within a Bayes factor, show how much a site's structure
would vary with another table of its rows, and which pairs vary together. So redrawing takes one
structure of every site, by its share, and its deviation from the site's mean: sites of one
population that differ by chance alone. A single structure varies more than the mean of several, so
the test is on the safe side; and it needs no blocks, so a difference of few pairs, in one part of
the network, can be found.

What the sites' own structures cannot show is what all tables of so few rows have in common; that
is taken out of the sites' means and of the redrawn structures in one way, that of the tree
(`beyond_rows`) where rows are told or shown (`SiteProfiles.covariate`), else that of
`one_population`. What a redrawing explains is that of the difference between both.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fedbn.arrays import Bools, Floats
from fedbn.groups.one_population import (
    DRAWS,
    ENOUGH,
    ROUNDING,
    explained_by_parts,
    gram_of,
)


def p_of_redrawn(
    structures: list[tuple[Floats, Floats]],
    residuals: Callable[[Floats], Floats],
    part: Bools,
    rng: np.random.Generator,
) -> float:
    """The p-value of a split: the share of redrawn sets of sites whose best contrast explains more.

    Parameters
    ----------
    structures : of every site, float64 [k, P], the pairs that each structure joins (0 or 1), and
        float64 [k], the structures' shares, of sum 1.
    residuals : of shares, float64 [m, P'], what rows do not explain, each pair by itself; as the
        split was found with them.
    part : bool [m], one side of the split; both sides have sites.
    rng : draws the structures.
    """
    means = np.stack([shares @ joined for joined, shares in structures])
    observed = float(explained_by_parts(residuals(means), part[None])[0])
    varying = np.any([np.ptp(joined, axis=0) > 0 for joined, _ in structures], axis=0)
    own = [joined[:, varying] for joined, _ in structures]
    left = residuals(means[:, varying])
    chosen = [rng.choice(len(shares), size=DRAWS, p=shares) for _, shares in structures]
    beyond = 0
    for drawn, places in enumerate(zip(*chosen, strict=True), start=1):
        joined = np.stack([site[place] for site, place in zip(own, places, strict=True)])
        gram = gram_of(residuals(joined) - left)
        beyond += int(np.linalg.eigvalsh(gram)[-1] >= observed * ROUNDING)
        if beyond == ENOUGH:
            return beyond / drawn
    return (1 + beyond) / (1 + DRAWS)
