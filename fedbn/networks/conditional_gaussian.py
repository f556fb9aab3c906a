"""Conditional linear-Gaussian networks of categories and numbers, and forward sampling from them.

A category has a table, as in `fedbn.networks.network`. A number has a linear equation for every
configuration of the categories among its parents (Lauritzen and Wermuth 1989):

    x = intercept + sum of coefficient x number parent + standard deviation x N(0, 1).

No category has a number as parent: such a distribution is none of this kind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

import numpy as np

from fedbn.arrays import Array, Floats
from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema
from fedbn.errors import ConfigError, NetworkError
from fedbn.graphs.dag import DAG
from fedbn.graphs.knowledge import Knowledge
from fedbn.graphs.known_class import member_that_keeps
from fedbn.graphs.pdag import dag_to_cpdag
from fedbn.networks.linear_gaussian import LinearGaussianNetwork
from fedbn.networks.network import (
    BayesianNetwork,
    checked_table,
    configuration_index,
    draw_rows,
    draw_states,
    table_shape,
)


@dataclass(frozen=True)
class NumberFamily:
    """A number and its parents, of both kinds.

    Attributes
    ----------
    node : its index in the schema.
    categories, numbers : its parents, ascending.
    sizes : how many states each of the categories has.
    """

    node: int
    categories: tuple[int, ...]
    numbers: tuple[int, ...]
    sizes: tuple[int, ...]

    @classmethod
    def of(cls, dag: DAG, schema: Schema, node: int) -> NumberFamily:
        """The family of a number of this schema."""
        parents, variables = dag.parents(node), schema.variables
        categories = tuple(i for i in parents if variables[i].states is not None)
        numbers = tuple(i for i in parents if variables[i].states is None)
        return cls(
            node, categories, numbers, tuple(len(variables[i].states or ()) for i in categories)
        )

    @property
    def columns(self) -> tuple[int, ...]:
        """The number parents, then the number itself."""
        return (*self.numbers, self.node)

    def configuration(self, dataset: Dataset) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
        """The configuration of the categories in every row, intp [rows]."""
        if not self.categories:
            return np.zeros(dataset.n_rows, dtype=np.intp)
        codes = np.column_stack([dataset.column(i) for i in self.categories])
        return configuration_index(codes, np.array(self.sizes, dtype=np.int32))


@dataclass(frozen=True, eq=False)
class Regressions:
    """The equations of a number, one for each of the q configurations of its categories.

    Attributes
    ----------
    coefficients : float [q, p], of its number parents in index order.
    intercepts : float [q].
    standard_deviations : float [q], above 0.
    """

    coefficients: Floats
    intercepts: Floats
    standard_deviations: Floats

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Regressions):
            return NotImplemented
        return (
            np.array_equal(self.coefficients, other.coefficients)
            and np.array_equal(self.intercepts, other.intercepts)
            and np.array_equal(self.standard_deviations, other.standard_deviations)
        )

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, eq=False)
class ConditionalGaussianNetwork:
    """A DAG with a table for every category and regressions for every number.

    Parameters
    ----------
    dag : over `schema.names`, in that order; no category has a number as parent.
    schema : of categories and numbers, of any kind.
    parameters : per variable a table float [q, r] as in `BayesianNetwork`, or `Regressions`. All
        arrays are copied, then read-only.

    Raises
    ------
    NetworkError : not as above; names the variable, or the arc.
    """

    dag: DAG
    schema: Schema
    parameters: tuple[Floats | Regressions, ...]

    def __post_init__(self) -> None:
        if self.dag.names != self.schema.names or len(self.parameters) != self.schema.n:
            raise NetworkError(
                "the DAG's names must be the schema's, with a table or regressions for each"
            )
        require_numbers_last(self.dag, self.schema)
        found: list[Floats | Regressions] = []
        for node, (variable, own) in enumerate(
            zip(self.schema.variables, self.parameters, strict=True)
        ):
            if variable.states is None:
                if not isinstance(own, Regressions):
                    raise NetworkError(f"{variable.name!r} is a number: it needs regressions")
                family = NumberFamily.of(self.dag, self.schema, node)
                found.append(_checked_regressions(variable.name, own, family))
                continue
            if isinstance(own, Regressions):
                raise NetworkError(f"{variable.name!r} is a category: it needs a table")
            sizes = [len(self.schema.variables[i].states or ()) for i in self.dag.parents(node)]
            shape = table_shape(variable.name, sizes, len(variable.states))
            found.append(checked_table(variable.name, np.asarray(own), shape))
        object.__setattr__(self, "parameters", tuple(found))

    @property
    def names(self) -> tuple[str, ...]:
        """Variable names, sorted as text."""
        return self.schema.names

    @property
    def n_parameters(self) -> int:
        """Number of free parameters: of tables, coefficients, intercepts and deviations."""
        return sum(
            own.coefficients.size + 2 * own.intercepts.size
            if isinstance(own, Regressions)
            else own.shape[0] * (own.shape[1] - 1)
            for own in self.parameters
        )

    def table(self, node: int) -> Floats:
        """The table of a category; raises NetworkError for a number."""
        own = self.parameters[node]
        if isinstance(own, Regressions):
            raise NetworkError(f"{self.names[node]!r} is a number: it has no table")
        return own

    def regressions(self, node: int) -> Regressions:
        """The regressions of a number; raises NetworkError for a category."""
        own = self.parameters[node]
        if not isinstance(own, Regressions):
            raise NetworkError(f"{self.names[node]!r} is a category: it has no regressions")
        return own

    def family(self, node: int) -> NumberFamily:
        """The parents of a number, by kind."""
        return NumberFamily.of(self.dag, self.schema, node)

    def with_shifts(self, shifts: Mapping[str, float]) -> ConditionalGaussianNetwork:
        """The network with a constant added to the equations of some numbers.

        Raises
        ------
        SchemaError : there is no such variable. NetworkError : it is no number.
        """
        parameters = list(self.parameters)
        for name, shift in shifts.items():
            node = self.schema.index(name)
            own = self.regressions(node)
            parameters[node] = replace(own, intercepts=own.intercepts + shift)
        return ConditionalGaussianNetwork(self.dag, self.schema, tuple(parameters))

    def sample(
        self,
        n_rows: int,
        rng: np.random.Generator,
        progress: Callable[[int, int], None] | None = None,
    ) -> Dataset:
        """Independent rows, as `draw_rows`; each takes one number of `rng` per variable."""
        return draw_rows(self.dag, self.schema, n_rows, partial(self._column, rng), progress)

    def _column(self, rng: np.random.Generator, node: int, values: Array) -> Array:
        own = self.parameters[node]
        parents = self.dag.parents(node)
        kinds = [self.schema.variables[i].states for i in parents]
        categories = [i for i, states in zip(parents, kinds, strict=True) if states is not None]
        sizes = np.array([len(states) for states in kinds if states is not None], np.int32)
        row = configuration_index(values[:, categories].astype(np.int32), sizes)
        if not isinstance(own, Regressions):
            return draw_states(own, row, rng)
        numbers = [i for i in parents if i not in categories]
        column = own.intercepts[row]
        column += own.standard_deviations[row] * rng.standard_normal(len(values))
        for place, parent in enumerate(numbers):
            column += own.coefficients[row, place] * values[:, parent]
        return column

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ConditionalGaussianNetwork):
            return NotImplemented
        return (
            self.dag == other.dag
            and self.schema == other.schema
            and all(map(_are_equal, self.parameters, other.parameters))
        )

    __hash__ = None  # type: ignore[assignment]


Network: TypeAlias = BayesianNetwork | LinearGaussianNetwork | ConditionalGaussianNetwork
"""A network with parameters, of any kind."""


def require_numbers_last(dag: DAG, schema: Schema) -> None:
    """Raise NetworkError, which names the arc, where a category has a number as parent."""
    numbers = np.array([variable.states is None for variable in schema.variables])
    arcs = np.argwhere(dag.adjacency & numbers[:, None] & ~numbers)
    if len(arcs):
        number, category = (dag.names[i] for i in arcs[0])
        raise NetworkError(
            f"the arc {number!r} → {category!r} leads from a number to a category: exact answers "
            "need categories before numbers"
        )


def member_with_numbers_last(dag: DAG, schema: Schema, known: Knowledge | None = None) -> DAG:
    """A DAG equivalent to `dag` in which no category has a number as parent; `dag` if it is one.

    Parameters
    ----------
    dag : over the schema's names, in that order.
    known : what `dag` keeps; a member that keeps it, too, goes before others.

    Raises
    ------
    NetworkError : there is none; names an arc that all members have.

    Examples
    --------
    >>> from fedbn.data.schema import Variable
    >>> schema = Schema((Variable("age"), Variable("ill", ("no", "yes"))))
    >>> member_with_numbers_last(DAG.from_edges(["age", "ill"], [("age", "ill")]), schema).edges
    (('ill', 'age'),)
    """
    numbers = set(schema.numbers)
    categories = tuple(name for name in dag.names if name not in numbers)
    if not (numbers and categories):
        return dag
    order = Knowledge(tiers=(categories, tuple(sorted(numbers))))
    for wanted in (_both(order, known), order):
        member = None if wanted is None else member_that_keeps(dag, wanted)
        if member is not None:
            return member
    compelled = dag_to_cpdag(dag).directed_edges
    for number, category in compelled:
        if number in numbers and category not in numbers:
            raise NetworkError(
                f"the arc {number!r} → {category!r}, which every network of this equivalence class "
                "has, leads from a number to a category: exact answers need categories before "
                "numbers"
            )
    require_numbers_last(dag, schema)
    return dag


def _both(order: Knowledge, known: Knowledge | None) -> Knowledge | None:
    """What both say; None where they contradict each other."""
    try:
        return order if known is None else order.and_also(known)
    except ConfigError:
        return None


def _checked_regressions(name: str, given: Regressions, family: NumberFamily) -> Regressions:
    """Read-only copies of the arrays, or a NetworkError."""
    q, _ = table_shape(name, family.sizes, 1)
    shapes = {
        "coefficients": (q, len(family.numbers)),
        "intercepts": (q,),
        "standard_deviations": (q,),
    }
    arrays = {}
    for field, shape in shapes.items():
        array = np.array(getattr(given, field), dtype=np.float64)
        if array.shape != shape:
            raise NetworkError(
                f"the {field} of {name!r} must have shape {shape}, not {array.shape}"
            )
        if not np.isfinite(array).all():
            raise NetworkError(f"the {field} of {name!r} must be finite numbers")
        array.flags.writeable = False
        arrays[field] = array
    least = arrays["standard_deviations"].min(initial=np.inf)
    if not least > 0:
        raise NetworkError(f"a standard deviation of {name!r} must be above 0, not {least}")
    return Regressions(**arrays)


def _are_equal(one: Floats | Regressions, other: Floats | Regressions) -> bool:
    if isinstance(one, Regressions) or isinstance(other, Regressions):
        return one is other or (isinstance(one, Regressions) and one == other)
    return np.array_equal(one, other)
