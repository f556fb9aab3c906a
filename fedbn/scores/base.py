"""The protocol of decomposable scores, and the scores that the search kernels can read.

A score of a DAG G on data is total(G) = Σ_y s(y, Pa_G(y)); higher is better. Every score of this
package is score equivalent (members of one equivalence class have the same total; this holds for
AIC too, since equivalent DAGs have as many free parameters), which `_joint_kernels` exploits.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from fedbn.errors import StructureError
from fedbn.wording import count_of

if TYPE_CHECKING:
    from fedbn.graphs.dag import DAG
    from fedbn.scores._tables import Tables

__all__ = ["LocalScore", "TabulatedScore", "total_score"]


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
    """A score whose data and store of values live in plain arrays, for the compiled searches.

    It is made by `make_score` or by one function per score (`bdeu`, `bic`, `aic`,
    `gaussian_bic`, `bge`). The store changes with use: one score serves one thread at a time.

    Parameters
    ----------
    names : the variables; sorted as text but for what `over` makes.
    label : what it is, with its settings, for results ("bdeu, ess 1").
    tables : the arrays that the kernels read.
    """

    names: tuple[str, ...]
    label: str
    tables: Tables = field(repr=False)

    @property
    def n(self) -> int:
        """Number of variables."""
        return len(self.names)

    def local_score(self, node: int, parents: Iterable[int]) -> float:
        """s(node, parents) in natural logarithms.

        Raises
        ------
        StructureError : an index is out of range, repeated, or the node is its own parent.
        """
        from fedbn.scores._joint_kernels import local_score

        family = np.array(sorted(parents), dtype=np.int64)
        whole = [node, *family.tolist()]
        if len(set(whole)) < len(whole) or min(whole) < 0 or max(whole) >= self.n:
            raise StructureError(
                f"a node and its parents must be different indices below {self.n}, got {whole}"
            )
        return float(local_score(self.tables, node, family))

    def over(self, nodes: NDArray[np.intp]) -> TabulatedScore:
        """The same local scores over some of the variables, in the order given.

        Parameters
        ----------
        nodes : [m] different indices. The store is shared: use one of the two at a time.
        """
        from fedbn.scores.counts import tables_over

        names = tuple(self.names[int(i)] for i in nodes)
        return TabulatedScore(names, self.label, tables_over(self.tables, nodes))

    def varying(self) -> NDArray[np.intp]:
        """The variables, without those of one agreed state: these tie everywhere, and stay alone.

        The first variable where no one varies.
        """
        varying = np.flatnonzero(self.tables.arities != 1)
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
