"""Moments of a DAG's families on the wire; the request is the DAG, as a structure message.

header   uint8   [33]   version, SHA-256 of the schema and the DAG
rows     int64   [1]
means    float64 [n]
scatter  float64 [P]    see `fedbn.networks.moments`
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import numpy.typing as npt

from fedbn.data.dataset import Schema
from fedbn.errors import DataError, MessageError
from fedbn.federation.npy import Arrays, require_keys
from fedbn.graphs.dag import DAG
from fedbn.networks.moments import Moments, family_pairs

__all__ = ["MOMENTS_KEYS", "moments_from_arrays", "moments_to_arrays"]

VERSION = 1

MAX_SITE_ROWS = 1 << 40
"""Rows of one site at most."""

MAX_VALUE = 1e130
"""Means of one site at most; with sums of products up to its square, pooled sums stay finite."""

_ROUNDING = 1e-6
"""So far a correlation matrix of a site may be from one: its sums were rounded."""

MOMENTS_KEYS = ("header", "rows", "means", "scatter")


def moments_to_arrays(moments: Moments, dag: DAG, schema: Schema) -> dict[str, npt.NDArray[Any]]:
    """The arrays of an answer, in the order of MOMENTS_KEYS."""
    return {
        "header": _header(dag, schema),
        "rows": np.array([moments.rows], dtype=np.int64),
        "means": np.array(moments.means),
        "scatter": np.array(moments.scatter),
    }


def moments_from_arrays(arrays: Arrays, dag: DAG, schema: Schema, *, sender: str) -> Moments:
    """Check the arrays of an answer from an untrusted site and build it.

    Raises
    ------
    MessageError : naming the sender and the first thing that is wrong.
    """
    try:
        require_keys(arrays, MOMENTS_KEYS)
        if not np.array_equal(arrays["header"], _header(dag, schema)):
            raise MessageError("the moments must be of the schema and the DAG that were asked for")
        pairs = family_pairs(dag)
        shapes = {"rows": (1,), "means": (dag.n,), "scatter": (len(pairs),)}
        for key, shape in shapes.items():
            kind = np.dtype(np.int64 if key == "rows" else np.float64)
            if arrays[key].shape != shape or arrays[key].dtype != kind:
                raise MessageError(f"{key} must be {kind} {list(shape)}")
        moments = Moments(int(arrays["rows"][0]), arrays["means"], arrays["scatter"])
        _require_bounded(moments)
        _require_scatter(moments, dag, pairs)
        return moments
    except (MessageError, DataError) as error:
        raise MessageError(f"{sender}: {error}") from None


def _require_bounded(moments: Moments) -> None:
    if moments.rows > MAX_SITE_ROWS:
        raise MessageError(f"rows must be at most {MAX_SITE_ROWS}, not {moments.rows}")
    largest = np.abs(moments.means).max(initial=0.0)
    product = np.abs(moments.scatter).max(initial=0.0)
    if largest > MAX_VALUE or product > MAX_VALUE**2:
        raise MessageError(
            f"means must be at most {MAX_VALUE:g} and sums of products {MAX_VALUE**2:g}, "
            f"not {largest:g} and {product:g}"
        )


def _require_scatter(moments: Moments, dag: DAG, pairs: tuple[tuple[int, int], ...]) -> None:
    """The sums of every family could be of a table: none of its combinations has less than 0."""
    scatter = np.zeros((dag.n, dag.n))
    for (i, j), value in zip(pairs, moments.scatter.tolist(), strict=True):
        scatter[i, j] = scatter[j, i] = value
    for node, name in enumerate(dag.names):
        family = [node, *dag.parents(node)]
        block = scatter[np.ix_(family, family)]
        own = np.diag(block)
        if (own < 0).any():
            raise MessageError(f"the scatter of the family of {name!r} must not be below 0")
        scale = np.sqrt(np.where(own > 0, own, 1.0))
        found = block / scale[:, None] / scale
        if np.linalg.eigvalsh(found)[0] < -_ROUNDING:
            raise MessageError(f"the scatter of the family of {name!r} is that of no table")


def _header(dag: DAG, schema: Schema) -> npt.NDArray[np.uint8]:
    digest = hashlib.sha256(bytes.fromhex(schema.hash) + dag.adjacency.tobytes()).digest()
    return np.frombuffer(bytes([VERSION]) + digest, dtype=np.uint8)
