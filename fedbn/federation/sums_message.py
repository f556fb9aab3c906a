"""Sums of products about a site's means, on the wire, in three forms.

    moments      of the families of a DAG of numbers, which is asked for as a structure message
                 header uint8 [33]: version, SHA-256 of the schema and the DAG
                 rows int64 [1], means float64 [n], scatter float64 [P]: `fedbn.networks.moments`
    scatter      of all columns; what is asked is the agreed schema alone
                 header uint8 [33]: version, SHA-256 of the schema
                 rows int64 [1]
                 products float64 [P]: the upper triangle, row by row, of `fedbn.scores.scatter`
    conditional  of the families of a DAG of categories and numbers, asked for like moments
                 header uint8 [33], rows int64 [1]: as of moments
                 told uint8 [n]: whether a variable's family is told, or held back for a small count
                 counts int64 [C]: of categories the cells of their tables, of numbers the rows by
                 configuration
                 means float64 [M]: of the number parents and the number, by configuration
                 products float64 [P]: the upper triangles of the sums of products about these means

Of all columns no mean leaves. Indicators of states are columns like numbers, so sums hold how many
rows have which states of every two columns; a site looks at these counts before it answers
(`fedbn.privacy.counts_in_sums`). Families come in name order; what is held back is 0.
"""

from __future__ import annotations

import hashlib

import numpy as np

from fedbn.arrays import Array, Floats, Ints
from fedbn.data.schema import Schema
from fedbn.errors import DataError, MessageError, NetworkError
from fedbn.graphs.dag import DAG
from fedbn.networks.conditional_gaussian import NumberFamily
from fedbn.networks.conditional_sums import ConditionalSums
from fedbn.networks.mixed_sums import MixedFamilies, MixedSums
from fedbn.networks.moments import Moments, family_pairs
from fedbn.scores.mixed import block_widths
from fedbn.scores.possible_sums import ROUNDING, require_of_a_table, require_of_indicators
from fedbn.scores.scatter import MAX_SITE_ROWS, Scatter
from fedbn.wire.arrays import ArrayFormat, Field
from fedbn.wire.npy import Arrays
from fedbn.wire.sender import said_by

MAX_VALUE = 1e130
"""Means of one site at most; with sums of products up to its square, pooled sums stay finite."""

_ROWS = Field("rows", np.int64, (1,), least=1, most=MAX_SITE_ROWS)


def _means(size: str) -> Field:
    """The means of a site."""
    return Field("means", np.float64, (size,), least=-MAX_VALUE, most=MAX_VALUE)


def _products(name: str = "products") -> Field:
    """Sums of products about the means of a site."""
    return Field(name, np.float64, ("P",), least=-(MAX_VALUE**2), most=MAX_VALUE**2)


MOMENTS = ArrayFormat(
    "moments",
    version=1,
    about="schema and the DAG that were asked for",
    fields=(_ROWS, _means("n"), _products("scatter")),
)


def moments_to_arrays(moments: Moments, dag: DAG, schema: Schema) -> dict[str, Array]:
    """The arrays of an answer, as `MOMENTS` has them."""
    return MOMENTS.encode(
        _digest(dag, schema), rows=[moments.rows], means=moments.means, scatter=moments.scatter
    )


@said_by()
def moments_from_arrays(arrays: Arrays, dag: DAG, schema: Schema) -> Moments:
    """Check the arrays of an answer from an untrusted site and build it; raises MessageError,
    naming the first thing that is wrong."""
    pairs = family_pairs(dag)
    found = MOMENTS.decode(arrays, _digest(dag, schema), n=dag.n, P=len(pairs))
    scatter = np.zeros((dag.n, dag.n))
    for (i, j), value in zip(pairs, found["scatter"].tolist(), strict=True):
        scatter[i, j] = scatter[j, i] = value
    for node, name in enumerate(dag.names):
        family = [node, *dag.parents(node)]
        block = scatter[np.ix_(family, family)]
        require_of_a_table(block, f"the family of {name!r}", ROUNDING)
    return Moments(int(found["rows"][0]), found["means"], found["scatter"])


def _digest(dag: DAG, schema: Schema) -> bytes:
    """What an answer is about where a DAG is asked about: a SHA-256."""
    return hashlib.sha256(bytes.fromhex(schema.hash) + dag.adjacency.tobytes()).digest()


MAX_COLUMNS = 2_000
"""Columns of all blocks at most: 2,001,000 sums."""

SCATTERS = ArrayFormat("scatter", version=1, about="schema", fields=(_ROWS, _products()))


def require_askable(schema: Schema) -> None:
    """Raise DataError where sums may not be asked for: of categories alone, which are counted, or
    of too many columns."""
    if schema.kind == "categorical":
        raise DataError("sums of products are for tables with numbers; categories are counted")
    size = sum(block_widths(schema))
    if size > MAX_COLUMNS:
        raise DataError(
            f"sums of products are for at most {MAX_COLUMNS} columns, a category of r states "
            f"counting as r - 1, not {size}"
        )


def scatter_to_arrays(scatter: Scatter, schema: Schema) -> dict[str, Array]:
    """The arrays of an answer, as `SCATTERS` has them."""
    upper = np.triu_indices(len(scatter.products))
    return SCATTERS.encode(
        bytes.fromhex(schema.hash), rows=[scatter.rows], products=scatter.products[upper]
    )


@said_by()
def scatter_from_arrays(arrays: Arrays, schema: Schema) -> Scatter:
    """Check the arrays of an answer from an untrusted site and build it; raises MessageError,
    naming the first thing that is wrong."""
    size = sum(block_widths(schema))
    found = SCATTERS.decode(arrays, bytes.fromhex(schema.hash), P=size * (size + 1) // 2)
    products = np.zeros((size, size))
    products[np.triu_indices(size)] = found["products"]
    products = np.triu(products) + np.triu(products, 1).T
    rows = int(found["rows"][0])
    require_of_a_table(products, "all columns", ROUNDING * size)
    require_of_indicators(np.diag(products), rows, schema)
    return Scatter(rows, products)


CONDITIONALS = ArrayFormat(
    "conditional",
    version=1,
    about="schema and the DAG that were asked for",
    fields=(
        _ROWS,
        Field("told", np.uint8, ("n",), most=1),
        Field("counts", np.int64, ("C",), least=0, most=MAX_SITE_ROWS),
        _means("M"),
        _products(),
    ),
)


def sums_to_arrays(sums: MixedSums, wanted: MixedFamilies) -> dict[str, Array]:
    """The arrays of an answer, as `CONDITIONALS` has them."""
    counts, means, products = [np.zeros(0)], [np.zeros(0)], [np.zeros(0)]
    for node in range(wanted.dag.n):
        sizes = wanted.sizes(node)
        parts: tuple[Array, ...] = tuple(map(np.zeros, sizes))
        if node in sums.tables:
            parts = (sums.tables[node].ravel(), *parts[1:])
        elif node in sums.numbers:
            own = sums.numbers[node]
            upper = np.triu_indices(own.means.shape[1])
            parts = (own.rows, own.means.ravel(), own.products[:, upper[0], upper[1]].ravel())
        for whole, part in zip((counts, means, products), parts, strict=True):
            whole.append(part)
    return CONDITIONALS.encode(
        _digest(wanted.dag, wanted.schema),
        rows=[sums.rows],
        told=[node in sums.told for node in range(wanted.dag.n)],
        counts=np.concatenate(counts).astype(np.int64),
        means=np.concatenate(means),
        products=np.concatenate(products),
    )


@said_by()
def sums_from_arrays(arrays: Arrays, wanted: MixedFamilies) -> MixedSums:
    """Check the arrays of an answer from an untrusted site and build it; raises MessageError,
    naming the first thing that is wrong."""
    n = wanted.dag.n
    lengths = np.cumsum([(0, 0, 0), *(wanted.sizes(node) for node in range(n))], axis=0)
    total = dict(zip("CMP", map(int, lengths[-1]), strict=True))
    found = CONDITIONALS.decode(arrays, _digest(wanted.dag, wanted.schema), n=n, **total)
    rows = int(found["rows"][0])
    tables: dict[int, Ints] = {}
    numbers: dict[int, ConditionalSums] = {}
    for node, variable in enumerate(wanted.schema.variables):
        (c, m, p), (c_end, m_end, p_end) = lengths[node], lengths[node + 1]
        counts = found["counts"][c:c_end]
        means, products = found["means"][m:m_end], found["products"][p:p_end]
        if not found["told"][node]:
            if counts.any() or means.any() or products.any():
                raise MessageError(f"the family of {variable.name!r} is held back, but has sums")
            continue
        if int(counts.sum()) != rows:
            raise MessageError(
                f"the family of {variable.name!r} must count {rows} rows, not {counts.sum()}"
            )
        if variable.states is not None:
            tables[node] = counts.reshape(-1, len(variable.states))
        else:
            family = wanted.number_family(node)
            numbers[node] = _number_sums(variable.name, family, counts, means, products)
    return MixedSums(rows, tables, numbers)


def _number_sums(
    name: str, family: NumberFamily, rows: Ints, means: Floats, upper: Floats
) -> ConditionalSums:
    """The sums of a number; MessageError where no table could have them."""
    k = len(family.columns)
    places = np.triu_indices(k)
    products = np.zeros((len(rows), k, k))
    products[:, places[0], places[1]] = upper.reshape(len(rows), -1)
    products[:, places[1], places[0]] = upper.reshape(len(rows), -1)
    require_of_a_table(products, f"the family of {name!r}", ROUNDING * k)
    try:
        return ConditionalSums(rows, means.reshape(-1, k), products)
    except (DataError, NetworkError) as error:
        raise MessageError(f"the family of {name!r}: {error}") from None
