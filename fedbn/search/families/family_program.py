"""A programme over families in HiGHS: a variable per family, one family per node, cluster rows.

A DAG takes exactly one family of every node, and in every cluster of nodes at least one family
without parents inside (Jaakkola et al. 2010). Costs are centred per node, so that the solver's
tolerances bear on what differs between DAGs. The relaxation (`cluster_lp.py`), the integer
programme of the credible sets and the master problem of CG-DCA are built on it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fedbn.arrays import Indices
from fedbn.search.families.families import Families


def new_solver(**options: Any) -> Any:
    """HiGHS, silent and in one thread, with these options."""
    from fedbn.extras import highspy

    make: Any = highspy.Highs
    solver = make()
    for name, value in ({"output_flag": False, "threads": 1} | options).items():
        solver.setOptionValue(name, value)
    return solver


def family_program(families: Families, *, integral: bool = False, **options: Any) -> Any:
    """The solver with a variable per family and a row per node, no cluster yet.

    Parameters
    ----------
    integral : variables in {0, 1} instead of [0, infinity).
    """
    from fedbn.extras import highspy

    solver, size = new_solver(**options), families.size
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = size, families.n
    model.col_cost_ = families.cost - families.cost[families.start[:-1]][families.node]
    most = 1.0 if integral else highspy.kHighsInf
    model.col_lower_, model.col_upper_ = np.zeros(size), np.full(size, most)
    if integral:
        model.integrality_ = [highspy.HighsVarType.kInteger] * size
    model.row_lower_ = model.row_upper_ = np.ones(families.n)
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_ = np.arange(size + 1)
    model.a_matrix_.index_ = families.node
    model.a_matrix_.value_ = np.ones(size)
    solver.passModel(model)
    return solver


def require_cluster(solver: Any, columns: Indices, least: float = 1.0) -> None:
    """A row: at least `least` of these families, which have too few parents in a cluster."""
    from fedbn.extras import highspy

    places = columns.astype(np.int32)
    solver.addRow(least, highspy.kHighsInf, places.size, places, np.ones(places.size))
