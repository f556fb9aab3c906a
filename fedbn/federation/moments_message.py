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

__all__ = [
    "MOMENTS",
    "digest_of",
    "means_field",
    "moments_from_arrays",
    "moments_to_arrays",
    "products_field",
    "require_of_a_table",
]

MAX_SITE_ROWS = 1 << 40
"""Rows of one site at most."""

MAX_VALUE = 1e130
"""Means of one site at most; with sums of products up to its square, pooled sums stay finite."""

ROUNDING = 1e-6
"""So far a correlation matrix of a site may be from one: its sums were rounded."""

ROWS = Field("rows", np.int64, (1,), least=1, most=MAX_SITE_ROWS)


def means_field(size: str) -> Field:
    """The means of a site."""
    return Field("means", np.float64, (size,), least=-MAX_VALUE, most=MAX_VALUE)


def products_field(name: str = "products") -> Field:
    """Sums of products about the means of a site."""
    return Field(name, np.float64, ("P",), least=-(MAX_VALUE**2), most=MAX_VALUE**2)


MOMENTS = ArrayFormat(
    "moments",
    version=1,
    about="schema and the DAG that were asked for",
    fields=(ROWS, means_field("n"), products_field("scatter")),
)


def moments_to_arrays(moments: Moments, dag: DAG, schema: Schema) -> dict[str, npt.NDArray[Any]]:
    """The arrays of an answer, as `MOMENTS` has them."""
    return MOMENTS.encode(
        digest_of(dag, schema), rows=[moments.rows], means=moments.means, scatter=moments.scatter
    )


@said_by()
def moments_from_arrays(arrays: Arrays, dag: DAG, schema: Schema) -> Moments:
    """Check the arrays of an answer from an untrusted site and build it; raises MessageError,
    naming the first thing that is wrong."""
    pairs = family_pairs(dag)
    found = MOMENTS.decode(arrays, digest_of(dag, schema), n=dag.n, P=len(pairs))
    scatter = np.zeros((dag.n, dag.n))
    for (i, j), value in zip(pairs, found["scatter"].tolist(), strict=True):
        scatter[i, j] = scatter[j, i] = value
    for node, name in enumerate(dag.names):
        family = [node, *dag.parents(node)]
        block = scatter[np.ix_(family, family)]
        require_of_a_table(block, f"the family of {name!r}", ROUNDING)
    return Moments(int(found["rows"][0]), found["means"], found["scatter"])


def require_of_a_table(
    products: npt.NDArray[np.float64], what: str, tolerance: float = ROUNDING
) -> None:
    """Raise MessageError unless some table could have these sums of products, float64 [..., k, k]:
    no combination of columns has less than 0, but for the tolerance of their correlations."""
    own = np.diagonal(products, axis1=-2, axis2=-1)
    if (own < 0).any():
        raise MessageError(f"the sums of squares of {what} must not be below 0")
    scale = np.sqrt(np.where(own > 0, own, 1.0))
    correlations = products / scale[..., :, None] / scale[..., None, :]
    if products.size and np.linalg.eigvalsh(correlations)[..., 0].min() < -tolerance:
        raise MessageError(f"the sums of {what} are those of no table")


def digest_of(dag: DAG, schema: Schema) -> bytes:
    """What an answer is about where a DAG is asked about: a SHA-256."""
    return hashlib.sha256(bytes.fromhex(schema.hash) + dag.adjacency.tobytes()).digest()
