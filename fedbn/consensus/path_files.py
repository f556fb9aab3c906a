"""A path saved and read back: JSON text, gzipped when the name ends in .gz.

The file holds the inputs, the order, G+, every deletion with exact fractions, and the arcs that
every input lost, so nothing is computed again on reading but the two readings of the consensus.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbn.consensus.mcbnc import McbncPath, Step
from fedbn.errors import FedbnError, ResultsError
from fedbn.fusion.inputs import MergedInputs
from fedbn.graphs.dag import DAG

__all__ = ["load_path", "path_from_dict", "path_to_dict", "save_path"]

FORMAT = "fedbn-path-1"


def save_path(path: McbncPath, file: str | Path) -> None:
    """Write a path.

    Raises
    ------
    ResultsError : the file cannot be written.
    """
    text = json.dumps(path_to_dict(path), separators=(",", ":"))
    try:
        if str(file).endswith(".gz"):
            Path(file).write_bytes(gzip.compress(text.encode(), mtime=0))
        else:
            Path(file).write_text(text, encoding="utf-8")
    except OSError as error:
        raise ResultsError(f"the path must be writable to {file}: {error}") from error


def load_path(file: str | Path) -> McbncPath:
    """Read what `save_path` wrote.

    Raises
    ------
    ResultsError : the file cannot be read or is no saved path.
    """
    try:
        data = Path(file).read_bytes()
        if str(file).endswith(".gz"):
            data = gzip.decompress(data)
        return path_from_dict(json.loads(data))
    except (OSError, EOFError) as error:
        raise ResultsError(f"a saved path must be readable at {file}: {error}") from error
    except (ValueError, KeyError, TypeError, IndexError, FedbnError) as error:
        raise ResultsError(f"{file} must be a path saved by fedbn: {error!r}") from error


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
        "rivals": [list(rival) for rival in path.rivals],
    }


def path_from_dict(data: Mapping[str, Any]) -> McbncPath:
    """The inverse of `path_to_dict`; raises ValueError, KeyError or TypeError for anything else."""
    if data["format"] != FORMAT:
        raise ValueError(f"the format must be {FORMAT!r}, got {data['format']!r}")
    names = tuple(data["names"])
    adjacency = np.stack([_matrix(arcs, len(names)) for arcs in data["inputs"]])
    adjacency.flags.writeable = False
    lost = np.array(data["lost_arcs"], dtype=np.int32).reshape(-1, 4)
    lost.flags.writeable = False
    return McbncPath(
        names=names,
        order=tuple(data["order"]),
        union=DAG(names, _matrix(data["union"], len(names))),
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
        rivals=tuple((pooling, status) for pooling, status in data.get("rivals", ())),
    )


def _matrix(arcs: list[list[int]], n: int) -> NDArray[np.bool_]:
    matrix = np.zeros((n, n), dtype=np.bool_)
    for parent, child in arcs:
        matrix[parent, child] = True
    return matrix
