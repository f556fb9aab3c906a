"""The only thing that leaves a client: structures with weights and a fixed status word.

On the wire a message is five arrays, always the same, so that a deployment moves five objects per
reply however many DAGs it holds:

    header   uint8   [35]    version, status code, form, the 32 bytes of the schema's SHA-256
    edges    int32   [M, 2]  (parent, child) indices into the agreed names, graph after graph,
                             sorted and distinct within each graph
    indptr   int64   [B + 1] the edges of graph b are rows indptr[b] .. indptr[b + 1]
    weights  float64 [B]     positive and finite
    row_weights float64 [B]  how often the rows were counted for each graph: >= 1, ascending

Where sites have different columns, a graph is over all agreed ones all the same: those that the
site did not name in the handshake must be isolated in it, and are taken out on arrival
(`dags_over`).

In form 0 the graphs are DAGs. In form 1 they are the CPDAGs of equivalence classes, an undirected
edge being there in both directions, and the receiver takes the canonical member of each class: the
consistent extension by Dor and Tarsi with ties by name order, which depends on the class alone.

The encoding is canonical: equal messages have equal bytes. Whoever receives a message trusts none
of it: what is declared in `STRUCTURES` its codec checks (`fedbn.wire.arrays`), order, in-degree,
counts and acyclicity :func:`from_arrays`. Column names and states travel once, as the JSON text of
a Schema.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from fedbn.arrays import Array, Ints, Ints32
from fedbn.data.schema import Schema
from fedbn.errors import MessageError
from fedbn.federation.reply_limits import Limits
from fedbn.graphs.dag import DAG
from fedbn.graphs.graph import WIDE
from fedbn.graphs.pdag import PDAG, consistent_extension, dag_to_cpdag
from fedbn.limits import STATUSES
from fedbn.wire.arrays import ArrayFormat, Field, Mark
from fedbn.wire.npy import Arrays
from fedbn.wire.sender import said_by
from fedbn.wording import count_of

FORMS = ("dag", "cpdag")
"""How structures travel; their positions are the codes on the wire."""

_WEIGHTS = Field("weights", np.float64, ("B",), above=0)
_ROW_WEIGHTS = Field("row_weights", np.float64, ("B",), least=1, ascends=True)

STRUCTURES = ArrayFormat(
    "structures",
    version=3,
    about="schema",
    marks=(Mark("status", len(STATUSES)), Mark("form", len(FORMS))),
    fields=(
        Field("edges", np.int32, ("M", 2), below="n"),
        Field("indptr", np.int64, ("B + 1",), rises_to="M"),
        _WEIGHTS,
        _ROW_WEIGHTS,
    ),
)
"""Structures on the wire; statuses and forms are numbered as they are listed."""


class GraphTooLargeError(MessageError):
    """A graph of a message has more edges or parents than the receiver accepts."""


@dataclass(frozen=True)
class StructureMessage:
    """DAGs over the agreed variables, with weights, as one party learned or fused them.

    Parameters
    ----------
    schema_hash : SHA-256 (hex) of the agreed schema.
    names : the agreed variables, sorted as text.
    dags : at least one DAG over exactly `names`, in that order.
    weights : one positive finite number per DAG.
    status, form : of STATUSES and of FORMS; for "cpdag" every DAG must be the canonical member of
        its class, as `as_classes` makes it.
    row_weights : the row-weight class of each DAG, at least 1 and ascending; empty for 1 each.

    Raises MessageError: something is not as above.
    """

    schema_hash: str
    names: tuple[str, ...]
    dags: tuple[DAG, ...]
    weights: tuple[float, ...]
    status: str
    form: str = "dag"
    row_weights: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not self.row_weights:
            object.__setattr__(self, "row_weights", (1.0,) * len(self.dags))
        if self.status not in STATUSES:
            raise MessageError(f"the status must be one of {STATUSES}, not {self.status!r}")
        if self.form not in FORMS:
            raise MessageError(f"the form must be one of {FORMS}, not {self.form!r}")
        if not self.dags or len(self.dags) != len(self.weights):
            raise MessageError(
                "a message must have at least one DAG and one weight for each, "
                f"not {len(self.dags)} DAGs and {len(self.weights)} weights"
            )
        for dag in self.dags:
            if dag.names != self.names:
                raise MessageError("every DAG of a message must be over its names, in their order")
        sizes = {"B": len(self.dags)}
        for field, values in ((_WEIGHTS, self.weights), (_ROW_WEIGHTS, self.row_weights)):
            array = field.write(values)
            field.require_shape(array, sizes)
            field.require_values(array, sizes)


def as_classes(message: StructureMessage) -> StructureMessage:
    """The message of the equivalence classes alone, with the sums of their weights; each class is
    there once for every row weight under which it was learned."""
    weights: dict[tuple[float, DAG], float] = {}
    for dag, weight, k in zip(message.dags, message.weights, message.row_weights, strict=True):
        member = k, consistent_extension(dag_to_cpdag(dag))
        weights[member] = weights.get(member, 0.0) + weight
    return replace(
        message,
        dags=tuple(dag for _, dag in weights),
        weights=tuple(weights.values()),
        row_weights=tuple(k for k, _ in weights),
        form="cpdag",
    )


def dags_over(message: StructureMessage, names: Sequence[str]) -> tuple[DAG, ...]:
    """The DAGs of a message over the columns that its sender has; raises MessageError where one of
    them joins a column that it does not have."""
    if tuple(names) == message.names:
        return message.dags
    own = set(names)
    lacks = np.array([name not in own for name in message.names])
    for dag in message.dags:
        joined = dag.arcs[lacks[dag.arcs]]
        if joined.size:
            column = message.names[joined.min()]
            raise MessageError(f"a structure joins {column!r}, which this site lacks")
    return tuple(dag.restrict(names) for dag in message.dags)


def to_arrays(message: StructureMessage) -> dict[str, Array]:
    """The arrays of a message, as `STRUCTURES` has them; see the module's docstring."""
    graphs = message.dags if message.form == "dag" else map(dag_to_cpdag, message.dags)
    edges = [graph.arcs for graph in graphs]
    return STRUCTURES.encode(
        bytes.fromhex(message.schema_hash),
        (STATUSES.index(message.status), FORMS.index(message.form)),
        edges=np.concatenate(edges),
        indptr=np.cumsum([0, *map(len, edges)]),
        weights=message.weights,
        row_weights=message.row_weights,
    )


def rungs_from_arrays(
    arrays: Arrays, schema: Schema, *, limits: Limits | None = None
) -> tuple[StructureMessage, tuple[tuple[float, str], ...]]:
    """`from_arrays`, without the row-weight classes of which a graph has too many edges or parents:
    a larger row weight makes denser graphs, and one that is too dense says nothing of the others.

    Returns the message of the classes that are left, and (row weight, reason) of the others; raises
    MessageError as `from_arrays`, and where no class is left.
    """
    try:
        return from_arrays(arrays, schema, limits=limits), ()
    except GraphTooLargeError as error:
        first = error
    kept, left_out = [], []
    for row_weight in np.unique(arrays["row_weights"]).tolist():
        rung = _of_class(arrays, row_weight)
        try:
            kept.append(from_arrays(rung, schema, limits=limits))
        except GraphTooLargeError as error:
            left_out.append((row_weight, str(error)))
    if not kept:
        raise first
    whole = replace(
        kept[0],
        dags=tuple(dag for each in kept for dag in each.dags),
        weights=tuple(weight for each in kept for weight in each.weights),
        row_weights=tuple(k for each in kept for k in each.row_weights),
    )
    return whole, tuple(left_out)


def _of_class(arrays: Arrays, row_weight: float) -> dict[str, Array]:
    """The arrays of the graphs of one row weight; they were decoded before."""
    indptr = arrays["indptr"]
    of = np.flatnonzero(arrays["row_weights"] == row_weight)
    parts = [arrays["edges"][indptr[b] : indptr[b + 1]] for b in of.tolist()]
    return {
        "header": arrays["header"],
        "edges": np.concatenate(parts),
        "indptr": np.cumsum([0, *map(len, parts)], dtype=np.int64),
        "weights": arrays["weights"][of],
        "row_weights": arrays["row_weights"][of],
    }


@said_by()
def from_arrays(
    arrays: Arrays, schema: Schema, *, limits: Limits | None = None
) -> StructureMessage:
    """The message of arrays that an untrusted sender made as :func:`to_arrays` does.

    `limits` are what is accepted at most, None for the defaults. Raises MessageError, naming the
    first thing that is wrong.
    """
    limits = limits or Limits()
    found = STRUCTURES.decode(arrays, bytes.fromhex(schema.hash), n=schema.n)
    form = FORMS[found.marks["form"]]
    edges, indptr, weights = found["edges"], found["indptr"], found["weights"]
    _check_sizes(indptr, weights.size, schema.n, limits)
    place = (_dag_of_edge(indptr) * schema.n + edges[:, 0]) * schema.n + edges[:, 1]
    if (np.diff(place) <= 0).any():
        raise MessageError("the edges of a DAG must be sorted and distinct")
    graphs = [edges[start:end] for start, end in pairwise(indptr.tolist())]
    if form == "dag":
        _check_graphs(edges, indptr, schema.n, limits)
        _check_acyclic(edges, indptr, schema.n)
        dags = tuple(DAG.from_arcs(schema.names, arcs) for arcs in graphs)
    else:
        dags = tuple(_member(PDAG.from_arcs(schema.names, arcs), limits) for arcs in graphs)
    return StructureMessage(
        schema.hash,
        schema.names,
        dags,
        tuple(weights.tolist()),
        STATUSES[found.marks["status"]],
        form,
        tuple(found["row_weights"].tolist()),
    )


def _member(cpdag: PDAG, limits: Limits) -> DAG:
    """The canonical member of a class, which must be given by its CPDAG and keep the limits."""
    dag = consistent_extension(cpdag)
    if dag_to_cpdag(dag) != cpdag:
        raise MessageError("a class must be given by its CPDAG: all its compelled edges directed")
    _check_graphs(dag.arcs, np.array([0, dag.n_edges], dtype=np.int64), dag.n, limits)
    return dag


def _check_sizes(indptr: Ints, dags: int, n: int, limits: Limits) -> None:
    """Counts of DAGs and edges, and bytes; nothing is allocated here."""
    if not 1 <= dags <= limits.max_dags:
        raise MessageError(f"a message must have 1 to {limits.max_dags} DAGs, not {dags}")
    if n <= WIDE and dags * n * n > limits.max_bytes:
        raise MessageError(
            f"{count_of(dags, 'DAG')} of {count_of(n, 'variable')} must fit in "
            f"{limits.max_bytes} bytes"
        )
    _require_few_edges(indptr, limits, times=2)  # a class may have each of its edges twice


def _require_few_edges(indptr: Ints, limits: Limits, *, times: int = 1) -> None:
    largest = int(np.diff(indptr).max())
    if largest > times * limits.max_edges:
        raise GraphTooLargeError(
            f"a DAG must have at most {count_of(limits.max_edges, 'edge')}, not {largest}"
        )


def _check_graphs(edges: Array, indptr: Ints, n: int, limits: Limits) -> None:
    """Number of edges and in-degrees of DAGs."""
    _require_few_edges(indptr, limits)
    dag = _dag_of_edge(indptr)
    in_degrees = np.bincount(dag * n + edges[:, 1], minlength=1)
    if int(in_degrees.max()) > limits.max_in_degree:
        raise GraphTooLargeError(
            f"a node must have at most {count_of(limits.max_in_degree, 'parent')}, "
            f"not {int(in_degrees.max())}"
        )


def _check_acyclic(edges: Ints32, indptr: Ints, n: int) -> None:
    """No cycle in any DAG, found on the edges before a matrix is made of one of them: all DAGs
    together are one graph, and a strong component of two nodes or more holds a cycle."""
    if (edges[:, 0] == edges[:, 1]).any():
        raise MessageError("no variable of a DAG may be its own parent")
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    nodes = (len(indptr) - 1) * n
    ends = (_dag_of_edge(indptr)[:, np.newaxis] * n + edges).T
    joined = coo_array((np.ones(len(edges), dtype=np.int8), tuple(ends)), shape=(nodes, nodes))
    components, _ = connected_components(joined, directed=True, connection="strong")
    if components < nodes:
        raise MessageError("a DAG must have no directed cycle")


def _dag_of_edge(indptr: Ints) -> Ints:
    """Which DAG each edge belongs to, int64 [M]."""
    return np.repeat(np.arange(len(indptr) - 1, dtype=np.int64), np.diff(indptr))
