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
        for (i, j), value in zip(pairs, arrays["scatter"].tolist(), strict=True):
            if i == j and value < 0:
                raise MessageError(f"the scatter of {dag.names[i]!r} must not be below 0")
        return Moments(int(arrays["rows"][0]), arrays["means"], arrays["scatter"])
    except (MessageError, DataError) as error:
        raise MessageError(f"{sender}: {error}") from None


def _header(dag: DAG, schema: Schema) -> npt.NDArray[np.uint8]:
    digest = hashlib.sha256(bytes.fromhex(schema.hash) + dag.adjacency.tobytes()).digest()
    return np.frombuffer(bytes([VERSION]) + digest, dtype=np.uint8)
