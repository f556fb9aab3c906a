"""Linear Gaussian networks, and exact forward sampling from them.

As in `fedbn.networks.network`, no library for linear algebra is used: its rounding could differ
between one thread and two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from fedbn.arrays import Array, Floats
from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema
from fedbn.errors import NetworkError
from fedbn.graphs.dag import DAG
from fedbn.networks.network import dag_of_parents, draw_rows


@dataclass(frozen=True)
class LinearEquation:
    """variable = intercept + sum of coefficient x parent + standard_deviation x N(0, 1)."""

    coefficients: Mapping[str, float]
    intercept: float
    standard_deviation: float


@dataclass(frozen=True, eq=False)
class LinearGaussianNetwork:
    """A DAG over real variables, each linear in its parents with Gaussian noise.

    Parameters
    ----------
    dag : its names sorted as text.
    coefficients : float [n, n]; `[i, j]` is the weight of i in the equation of j, 0 where there
        is no edge i -> j.
    intercepts : float [n].
    standard_deviations : float [n] of the noise, each above 0.

    All arrays are copied, then read-only.

    Raises
    ------
    NetworkError : names, shapes, or numbers are not as above; names the variable.
    """

    dag: DAG
    coefficients: Floats
    intercepts: Floats
    standard_deviations: Floats

    def __post_init__(self) -> None:
        n = self.dag.n
        if self.dag.names != tuple(sorted(self.dag.names)):
            raise NetworkError("the DAG's names must be sorted as text")
        shapes = {"coefficients": (n, n), "intercepts": (n,), "standard_deviations": (n,)}
        for field, shape in shapes.items():
            array = np.array(getattr(self, field), dtype=np.float64)
            if array.shape != shape:
                raise NetworkError(f"{field} must have shape {shape}, not {array.shape}")
            if not np.isfinite(array).all():
                raise NetworkError(f"{field} must be finite numbers")
            array.flags.writeable = False
            object.__setattr__(self, field, array)
        stray = np.argwhere((self.coefficients != 0) & ~self.dag.adjacency)
        if len(stray):
            i, j = stray[0]
            raise NetworkError(
                f"{self.dag.names[i]!r} has a coefficient in the equation of "
                f"{self.dag.names[j]!r} but no edge to it"
            )
        for name, deviation in zip(self.dag.names, self.standard_deviations, strict=True):
            if deviation <= 0:
                raise NetworkError(
                    f"the standard deviation of {name!r} must be above 0, not {deviation}"
                )

    @classmethod
    def from_equations(cls, equations: Mapping[str, LinearEquation]) -> LinearGaussianNetwork:
        """The network of these equations, in any order.

        Raises
        ------
        NetworkError : a parent is no variable, the graph has a cycle, or a number is wrong.
        """
        names = tuple(sorted(equations))
        dag = dag_of_parents(names, {name: tuple(equations[name].coefficients) for name in names})
        coefficients = np.zeros((len(names), len(names)))
        for child, name in enumerate(names):
            for parent, weight in equations[name].coefficients.items():
                coefficients[names.index(parent), child] = weight
        return cls(
            dag,
            coefficients,
            np.array([equations[name].intercept for name in names]),
            np.array([equations[name].standard_deviation for name in names]),
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Variable names, sorted as text."""
        return self.dag.names

    @property
    def n_parameters(self) -> int:
        """Number of free parameters: coefficients, intercepts and standard deviations."""
        return self.dag.n_edges + 2 * self.dag.n

    @property
    def schema(self) -> Schema:
        """The Gaussian schema of these names."""
        return Schema.gaussian(self.names)

    def with_shifts(self, shifts: Mapping[str, float]) -> LinearGaussianNetwork:
        """The network with a constant added to the equations of some variables; raises NetworkError
        for an unknown one."""
        intercepts = self.intercepts.copy()
        for name, shift in shifts.items():
            if name not in self.names:
                raise NetworkError(f"the network has no variable {name!r}")
            intercepts[self.names.index(name)] += shift
        return LinearGaussianNetwork(
            self.dag, self.coefficients, intercepts, self.standard_deviations
        )

    def sample(
        self,
        n_rows: int,
        rng: np.random.Generator,
        progress: Callable[[int, int], None] | None = None,
    ) -> Dataset:
        """Independent rows, as `draw_rows`; each takes a normal number of `rng` per variable."""
        return draw_rows(self.dag, self.schema, n_rows, partial(self._column, rng), progress)

    def _column(self, rng: np.random.Generator, node: int, values: Array) -> Array:
        noise = rng.standard_normal(len(values))
        column: Floats = self.intercepts[node] + self.standard_deviations[node] * noise
        for parent in self.dag.parents(node):
            column += self.coefficients[parent, node] * values[:, parent]
        return column

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LinearGaussianNetwork):
            return NotImplemented
        return (
            self.dag == other.dag
            and np.array_equal(self.coefficients, other.coefficients)
            and np.array_equal(self.intercepts, other.intercepts)
            and np.array_equal(self.standard_deviations, other.standard_deviations)
        )

    __hash__ = None  # type: ignore[assignment]
