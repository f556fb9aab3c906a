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
from fedbn.errors import MessageError
from fedbn.graphs.dag import DAG
from fedbn.networks.moments import Moments, family_pairs
from fedbn.wire.arrays import ArrayFormat, Field
from fedbn.wire.npy import Arrays
from fedbn.wire.sender import said_by

__all__ = ["MOMENTS", "moments_from_arrays", "moments_to_arrays"]

MAX_SITE_ROWS = 1 << 40
"""Rows of one site at most."""

MAX_VALUE = 1e130
"""Means of one site at most; with sums of products up to its square, pooled sums stay finite."""

_ROUNDING = 1e-6
"""So far a correlation matrix of a site may be from one: its sums were rounded."""

MOMENTS = ArrayFormat(
    "moments",
    version=1,
    about="schema and the DAG that were asked for",
    fields=(
        Field("rows", np.int64, (1,), least=1, most=MAX_SITE_ROWS),
        Field("means", np.float64, ("n",), least=-MAX_VALUE, most=MAX_VALUE),
        Field("scatter", np.float64, ("P",), least=-(MAX_VALUE**2), most=MAX_VALUE**2),
    ),
)


def moments_to_arrays(moments: Moments, dag: DAG, schema: Schema) -> dict[str, npt.NDArray[Any]]:
    """The arrays of an answer, as `MOMENTS` has them."""
    return MOMENTS.encode(
        _digest(dag, schema), rows=[moments.rows], means=moments.means, scatter=moments.scatter
    )


def moments_from_arrays(arrays: Arrays, dag: DAG, schema: Schema, *, sender: str) -> Moments:
    """Check the arrays of an answer from an untrusted site and build it.

    Raises
    ------
    MessageError : naming the sender and the first thing that is wrong.
    """
    with said_by(sender):
        pairs = family_pairs(dag)
        found = MOMENTS.decode(arrays, _digest(dag, schema), n=dag.n, P=len(pairs))
        moments = Moments(int(found["rows"][0]), found["means"], found["scatter"])
        _require_scatter(moments, dag, pairs)
        return moments


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


def _digest(dag: DAG, schema: Schema) -> bytes:
    return hashlib.sha256(bytes.fromhex(schema.hash) + dag.adjacency.tobytes()).digest()
