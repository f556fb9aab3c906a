"""The protocol of decomposable scores, and the scores that the compiled searches read.

A score of a DAG G on data is total(G) = Σ_y s(y, Pa_G(y)); higher is better. Every score of this
package is score equivalent (members of one equivalence class have the same total; this holds for
AIC too, since equivalent DAGs have as many free parameters), which `core/scores/score.hpp`
exploits.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from fedbn.arrays import Indices
from fedbn.errors import StructureError
from fedbn.wording import count_of

if TYPE_CHECKING:
    from fedbn._core.scores import DiscreteScore, GaussianScore, MixedScore
    from fedbn.graphs.dag import DAG


class LocalScore(Protocol):
    """A decomposable score on one data set."""

    @property
    def names(self) -> tuple[str, ...]:
        """The variables; nodes are indices into it."""
        ...

    @property
    def n(self) -> int:
        """Number of variables."""
        ...

    def local_score(self, node: int, parents: Iterable[int]) -> float:
        """s(node, parents), higher is better; the order of the parents does not matter."""
        ...


@dataclass(frozen=True, eq=False)
class TabulatedScore:
    """A score that the compiled searches read.

    It is made by `make_score`. What it counts it keeps. Threads that ask one score take turns.

    Parameters
    ----------
    names : the variables; sorted as text but for what `over` makes.
    label : what it is, with its settings, for results ("bdeu, ess 1").
    core : the data and the store of values, see `core/scores/score.hpp`.
    n_rows : of the table; of filled numbers, the whole rows that they count as.
    row_weight : k > 0, by which every count is multiplied; below 1 only where cells were filled.
    parameter : BDeu: the equivalent sample size; BIC and AIC: the penalty of a free parameter or,
        of Gaussian data, of a parent (mixed: of a pair of columns); BGe: 0.
    """

    names: tuple[str, ...]
    label: str
    core: DiscreteScore | GaussianScore | MixedScore = field(repr=False)
    n_rows: int
    row_weight: float
    parameter: float

    @property
    def n(self) -> int:
        """Number of variables."""
        return len(self.names)

    @property
    def is_gaussian(self) -> bool:
        """Whether the data are numbers alone, under a score of such."""
        return hasattr(type(self.core), "gram")  # which a wide score computes when asked

    @property
    def is_mixed(self) -> bool:
        """Whether it is a score of blocks of columns, of numbers and of categories."""
        return hasattr(self.core, "ranks")

    def local_score(self, node: int, parents: Iterable[int]) -> float:
        """s(node, parents) in natural logarithms; -inf of a family that a mixed score refuses.

        Raises
        ------
        StructureError : an index is out of range, repeated, or the node is its own parent.
        """
        family = sorted(map(int, parents))
        whole = [int(node), *family]
        if len(set(whole)) < len(whole) or min(whole) < 0 or max(whole) >= self.n:
            raise StructureError(
                f"a node and its parents must be different indices below {self.n}, got {whole}"
            )
        if self.is_mixed and self.core.refuses(whole[0], family):
            return -math.inf
        return float(self.core.local(whole[0], family))

    def over(self, nodes: Indices) -> TabulatedScore:
        """The same local scores over some of the variables, in the order given.

        Parameters
        ----------
        nodes : [m] different indices. The store is shared.
        """
        names = tuple(self.names[int(i)] for i in nodes)
        return replace(self, names=names, core=self.core.over([int(i) for i in nodes]))

    def varying(self) -> Indices:
        """The variables, without those of one agreed state: these tie everywhere, and stay alone.

        The first variable where no one varies.
        """
        if self.is_gaussian:
            return np.arange(self.n)
        sizes = self.core.ranks + 1 if self.is_mixed else self.core.arities
        varying = np.flatnonzero(sizes != 1)
        return varying if varying.size else np.arange(1)

    def __repr__(self) -> str:
        return f"TabulatedScore({self.label}; {count_of(self.n, 'variable')})"


def total_score(score: LocalScore, dag: DAG) -> float:
    """Σ_y s(y, Pa(y)); the DAG may list the variables in any order.

    Raises
    ------
    StructureError : the DAG's variables are not the score's.
    """
    if dag.names != score.names:
        dag = dag.reorder(score.names)
    return sum(score.local_score(y, parents) for y, parents in enumerate(dag.parent_sets()))
