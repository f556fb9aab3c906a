"""Bayesian networks with parameters, and exact forward sampling from them.

Sampling draws every variable given its parents in topological order, all rows at once. The result
depends on the generator alone: no library for linear algebra is used, whose rounding could differ
between one thread and two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from fedbn.arrays import Array, Codes, Floats, Indices, Ints32
from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema
from fedbn.errors import NetworkError, StructureError
from fedbn.graphs.dag import DAG

SUM_TOLERANCE = 1e-3
"""A row of probabilities may sum to 1 up to this much, as printed digits are rounded; such a row is
divided by its sum. Published networks are within 4e-7."""

MAX_CELLS = 5_000_000
"""A larger table is refused: no file format carries it, and no data set could fill it."""

_EXACT = 1e-12
"""Rows that sum to 1 within this are kept bit by bit."""


@dataclass(frozen=True)
class ConditionalTable:
    """P(variable | parents) as a file writes it: states and parents in the file's own order.

    Parameters
    ----------
    states : the variable's states.
    parents : names of the parents.
    rows : float [q, r], one row per configuration of the parents, the last parent running
        fastest, one column per state.
    """

    states: tuple[str, ...]
    parents: tuple[str, ...]
    rows: Floats


@dataclass(frozen=True, eq=False)
class BayesianNetwork:
    """A DAG over categorical variables with one conditional probability table per variable.

    Parameters
    ----------
    dag : over `schema.names`, in that order.
    schema : categorical.
    cpts : per variable float [q, r]: one row per configuration of its parents (parents in index
        order, the last running fastest), one column per state. Copied, then read-only. Rows
        within `SUM_TOLERANCE` of 1 are divided by their sum.

    Raises
    ------
    NetworkError : names, shapes, or probabilities are not as above; names the variable.
    """

    dag: DAG
    schema: Schema
    cpts: tuple[Floats, ...]

    def __post_init__(self) -> None:
        if self.schema.kind != "categorical":
            raise NetworkError("a network of probability tables needs a categorical schema")
        if self.dag.names != self.schema.names:
            raise NetworkError("the DAG's names must be the schema's, in the same (sorted) order")
        if len(self.cpts) != self.schema.n:
            raise NetworkError(
                f"there must be a table per variable, {self.schema.n}, not {len(self.cpts)}"
            )
        sizes = self.schema.cardinalities
        tables = []
        for node, (name, cpt) in enumerate(zip(self.schema.names, self.cpts, strict=True)):
            shape = table_shape(name, sizes[list(self.dag.parents(node))], int(sizes[node]))
            tables.append(checked_table(name, np.asarray(cpt), shape))
        object.__setattr__(self, "cpts", tuple(tables))

    @classmethod
    def from_tables(cls, tables: Mapping[str, ConditionalTable]) -> BayesianNetwork:
        """The network of these tables, whatever the order of variables, parents and states.

        Raises
        ------
        NetworkError : a parent is no variable, the graph has a cycle, or a table is wrong.
        SchemaError : states repeat or are not text.
        """
        schema = Schema.categorical({name: table.states for name, table in tables.items()})
        dag = dag_of_parents(schema.names, {name: table.parents for name, table in tables.items()})
        cpts = tuple(_sorted_rows(name, tables) for name in schema.names)
        return cls(dag, schema, cpts)

    @property
    def names(self) -> tuple[str, ...]:
        """Variable names, sorted as text."""
        return self.schema.names

    @property
    def n_parameters(self) -> int:
        """Number of free parameters: the sum of q (r - 1)."""
        return sum(cpt.shape[0] * (cpt.shape[1] - 1) for cpt in self.cpts)

    def sample(
        self,
        n_rows: int,
        rng: np.random.Generator,
        progress: Callable[[int, int], None] | None = None,
    ) -> Dataset:
        """Independent rows, as `draw_rows`; each takes one uniform number of `rng` per variable."""
        return draw_rows(self.dag, self.schema, n_rows, partial(self._column, rng), progress)

    def _column(self, rng: np.random.Generator, node: int, values: Array) -> Array:
        parents = self.dag.parents(node)
        row = configuration_index(values[:, parents], self.schema.cardinalities[list(parents)])
        return draw_states(self.cpts[node], row, rng)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BayesianNetwork):
            return NotImplemented
        return (
            self.dag == other.dag
            and self.schema == other.schema
            and all(map(np.array_equal, self.cpts, other.cpts))
        )

    __hash__ = None  # type: ignore[assignment]


def table_shape(name: str, parent_cardinalities: ArrayLike, cardinality: int) -> tuple[int, int]:
    """(q, r) of a variable's table; raises NetworkError above `MAX_CELLS` cells."""
    q = configurations(parent_cardinalities)
    if q * cardinality > MAX_CELLS:
        raise NetworkError(
            f"the table of {name!r} may have at most {MAX_CELLS} cells, its "
            f"{np.size(parent_cardinalities)} parents have {q} configurations"
        )
    return q, cardinality


def configurations(cardinalities: ArrayLike) -> int:
    """The number of joint configurations, as an exact integer (1 for no variable)."""
    product = 1
    for size in np.asarray(cardinalities, dtype=np.int64).tolist():
        product *= size
    return product


def configuration_index(codes: Codes, cardinalities: Ints32) -> Indices:
    """The row of a table for each row of codes, the last column running fastest.

    Parameters
    ----------
    codes : int [rows, p]
    cardinalities : int [p]; their product must fit an index.
    """
    index = np.zeros(codes.shape[0], dtype=np.intp)
    for column, size in enumerate(cardinalities.tolist()):
        index *= size
        index += codes[:, column]
    return index


def draw_states(cpt: Floats, row: Indices, rng: np.random.Generator) -> Codes:
    """One state per entry of `row`, by inversion; a state of probability 0 is never drawn."""
    uniform = rng.random(row.size)
    code = np.zeros(row.size, dtype=np.int32)
    if cpt.shape[1] == 1:
        return code
    bounds = np.cumsum(cpt, axis=1)
    last = cpt.shape[1] - 1 - np.argmax(cpt[:, ::-1] > 0, axis=1)
    bounds[np.arange(cpt.shape[1]) >= last[:, None]] = 1.0
    for state in range(cpt.shape[1] - 1):
        code += uniform >= bounds[:, state][row]
    return code


def checked_table(name: str, cpt: Floats, shape: tuple[int, int]) -> Floats:
    """A read-only copy with rows that sum to 1, or a NetworkError."""
    if cpt.shape != shape:
        raise NetworkError(f"the table of {name!r} must have shape {shape}, not {cpt.shape}")
    table = np.array(cpt, dtype=np.float64, order="C")
    bad = np.argwhere(~((table >= 0) & (table <= 1 + SUM_TOLERANCE)))
    if len(bad):
        value = table[tuple(bad[0])]
        raise NetworkError(f"the table of {name!r} must hold probabilities, found {value}")
    sums = table.sum(axis=1)
    off = np.abs(sums - 1)
    if off.max() > SUM_TOLERANCE:
        worst = int(off.argmax())
        raise NetworkError(
            f"row {worst + 1} of the table of {name!r} must sum to 1 within {SUM_TOLERANCE}, "
            f"its sum is {sums[worst]}"
        )
    rounded = off > _EXACT
    table[rounded] /= sums[rounded, None]
    table.flags.writeable = False
    return table


def _sorted_rows(name: str, tables: Mapping[str, ConditionalTable]) -> Floats:
    """The rows of one table with states and parents brought into sorted order."""
    table = tables[name]
    sizes = [len(tables[parent].states) for parent in table.parents]
    shape = (*sizes, len(table.states))
    rows = np.asarray(table.rows, dtype=np.float64)
    if rows.shape != (configurations(sizes), len(table.states)):
        raise NetworkError(
            f"the table of {name!r} must have shape "
            f"{(configurations(sizes), len(table.states))}, not {rows.shape}"
        )
    cube = rows.reshape(shape)
    for axis, variable in enumerate((*table.parents, name)):
        cube = np.take(cube, _order(tables[variable].states), axis=axis)
    axes = (*_order(table.parents), len(sizes))
    return cube.transpose(axes).reshape(rows.shape)


def _order(texts: Sequence[str]) -> list[int]:
    """Positions that sort the texts."""
    return sorted(range(len(texts)), key=texts.__getitem__)


def dag_of_parents(names: tuple[str, ...], parents: Mapping[str, Sequence[str]]) -> DAG:
    """The DAG of these parents; raises NetworkError unless it is one over these names."""
    edges = [(parent, name) for name in names for parent in parents[name]]
    try:
        return DAG.from_edges(names, edges)
    except StructureError as error:
        raise NetworkError(f"the network's graph: {error}") from error


def draw_rows(
    dag: DAG,
    schema: Schema,
    n_rows: int,
    column: Callable[[int, Array], Array],
    progress: Callable[[int, int], None] | None,
) -> Dataset:
    """Independent rows from a joint distribution, one column after another.

    Parameters
    ----------
    n_rows : at least 1.
    column : the values of a node, given those of its parents in an array [rows, n].
    progress : called with how many of how many columns are drawn.

    Raises
    ------
    NetworkError : n_rows is below 1.
    """
    if n_rows < 1:
        raise NetworkError(f"the number of rows to sample must be at least 1, not {n_rows}")
    kind = np.int32 if schema.kind == "categorical" else np.float64
    values = np.empty((n_rows, schema.n), kind, order="F")
    for done, node in enumerate(dag.topological_order(), start=1):
        values[:, node] = column(node, values)
        if progress is not None:
            progress(done, schema.n)
    return Dataset(schema, values)
