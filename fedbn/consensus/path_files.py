"""A path as JSON values, and read back from them, for checkpoints.

They hold the inputs, the order, G+, every deletion with exact fractions, and the arcs that
every input lost, so nothing is computed again on reading but the two readings of the consensus.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from fedbn.consensus.mcbnc import McbncPath, Step
from fedbn.fusion.inputs import MergedInputs
from fedbn.graphs.dag import DAG, matrix_of_pairs

__all__ = ["path_from_dict", "path_to_dict"]

FORMAT = "fedbn-path-1"


def path_to_dict(path: McbncPath) -> dict[str, Any]:
    """The path as JSON values, all of it and exact."""
    inputs = path.inputs
    return {
        "format": FORMAT,
        "names": list(path.names),
        "order": list(path.order),
        "union": np.argwhere(path.union.adjacency).tolist(),
        "inputs": [np.argwhere(matrix).tolist() for matrix in inputs.adjacency],
        "weights": list(inputs.weights),
        "unit": str(inputs.unit),
        "members": [list(members) for members in inputs.members],
        "k_max": path.k_max,
        "steps": [[s.x, s.y, list(s.h), str(s.psi), str(s.theta)] for s in path.steps],
        "lost_arcs": path.lost_arcs.tolist(),
        "status": path.status,
        "pooling": path.pooling,
        "quorum": path.quorum,
        "rivals": [list(rival) for rival in path.rivals],
    }


def path_from_dict(data: Mapping[str, Any]) -> McbncPath:
    """The inverse of `path_to_dict`; raises ValueError, KeyError or TypeError for anything else."""
    if data["format"] != FORMAT:
        raise ValueError(f"the format must be {FORMAT!r}, got {data['format']!r}")
    names = tuple(data["names"])
    adjacency = np.stack([matrix_of_pairs(arcs, len(names)) for arcs in data["inputs"]])
    adjacency.flags.writeable = False
    lost = np.array(data["lost_arcs"], dtype=np.int32).reshape(-1, 4)
    lost.flags.writeable = False
    return McbncPath(
        names=names,
        order=tuple(data["order"]),
        union=DAG(names, matrix_of_pairs(data["union"], len(names))),
        inputs=MergedInputs(
            names=names,
            adjacency=adjacency,
            weights=tuple(data["weights"]),
            unit=Fraction(data["unit"]),
            members=tuple(tuple(members) for members in data["members"]),
        ),
        k_max=data["k_max"],
        steps=tuple(
            Step(x, y, tuple(h), Fraction(psi), Fraction(theta))
            for x, y, h, psi, theta in data["steps"]
        ),
        lost_arcs=lost,
        status=data["status"],
        pooling=data["pooling"],
        quorum=data.get("quorum", 1),
        rivals=tuple((pooling, status) for pooling, status in data.get("rivals", ())),
    )
