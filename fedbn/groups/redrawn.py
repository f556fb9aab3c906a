"""Is there more than one population? The test where every site sends several structures.

Structures of bootstrap samples, or those within a Bayes factor, show how much a site's structure
would vary with another table of its rows, and which pairs vary together. So redrawing takes one
structure of every site, by its share, and its deviation from the site's mean: sites of one
population that differ by chance alone. A single structure varies more than the mean of several, so
the test is on the safe side; and it needs no blocks, so a difference of few pairs, in one part of
the network, can be found.

What the sites' own structures cannot show is what all tables of so few rows have in common; that
is taken out as in `one_population`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbn.arrays import Floats
from fedbn.groups.one_population import (
    DRAWS,
    ENOUGH,
    ROUNDING,
    explained_by_parts,
    gram_of,
    residuals_of,
)

__all__ = ["p_of_redrawn"]


def p_of_redrawn(
    structures: list[tuple[Floats, Floats]],
    covariate: Floats,
    part: NDArray[np.bool_],
    rng: np.random.Generator,
) -> float:
    """The p-value of a split: the share of redrawn sets of sites whose best contrast explains more.

    Parameters
    ----------
    structures : of every site, float64 [k, P], the pairs that each structure joins (0 or 1), and
        float64 [k], the structures' shares, of sum 1.
    covariate : float64 [m], as for `residuals_of`.
    part : bool [m], one side of the split; both sides have sites.
    rng : draws the structures.
    """
    means = np.stack([shares @ joined for joined, shares in structures])
    observed = float(explained_by_parts(residuals_of(means, covariate), part[None])[0])
    chosen = [rng.choice(len(shares), size=DRAWS, p=shares) for _, shares in structures]
    beyond = 0
    for drawn in range(1, DRAWS + 1):
        deviations = np.stack(
            [structures[i][0][chosen[i][drawn - 1]] - means[i] for i in range(len(means))]
        )
        gram = gram_of(residuals_of(deviations, covariate))
        beyond += int(np.linalg.eigvalsh(gram)[-1] >= observed * ROUNDING)
        if beyond == ENOUGH:
            return beyond / drawn
    return (1 + beyond) / (1 + DRAWS)
