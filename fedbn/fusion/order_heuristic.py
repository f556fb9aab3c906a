"""The order heuristic for fusing DAGs.

Puerta, Aledo, Gámez, Laborda: Efficient and accurate structural fusion of Bayesian networks,
Information Fusion 66 (2021); the order σ is built from last to first. For each remaining node v,
cost(v) = (children(v) - 1) + #{(p, c): p parent, c child of v, p and c not adjacent}
+ #{q: q another parent of some child of v, q and v not adjacent}, summed over the current DAGs with
their weights; the cheapest node goes in front of σ, becomes a sink in every DAG by covered
reversals and is removed. A sink costs -1, as in the authors' program. The result depends on which
child is reversed first where several qualify: here the one of smallest name.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fedbn.fusion.inputs import merge_inputs
from fedbn.fusion.weights import Weight
from fedbn.graphs.dag import DAG


def heuristic_order(
    dags: Sequence[DAG],
    weights: Sequence[Weight] | None = None,
    rng: np.random.Generator | None = None,
) -> tuple[str, ...]:
    """The names in an order under which the fused graph has few edges.

    Parameters
    ----------
    dags : at least one, over the same names.
    weights : one positive int or Fraction per DAG; 1 each by default.
    rng : chooses among equally cheap nodes; the smallest name is taken without it.

    Raises
    ------
    StructureError : no DAG, or DAGs over different names. ConfigError : a bad weight.

    Examples
    --------
    >>> heuristic_order([DAG.from_edges("wxyz", [("w", "x"), ("x", "y"), ("y", "z")])])
    ('w', 'x', 'y', 'z')
    """
    from fedbn._core.fusion import OrderHeuristic

    inputs = merge_inputs(dags, weights)
    draws = np.empty(0) if rng is None else rng.random(len(inputs.names))
    heuristic = OrderHeuristic(inputs.parent_bits, inputs.weight_array, draws)
    heuristic.extend(len(inputs.names))
    return tuple(inputs.names[i] for i in heuristic.order)
