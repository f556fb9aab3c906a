"""Runs one search program on one table; started by `simulations.benchmarks.search`.

    PYTHON peers.py PROGRAM TABLE.npz

TABLE.npz has `codes` (int [rows, n]) or `values` (float [rows, n]). One JSON object is printed:
`seconds` (CPU, of the second of two runs where the program compiles itself) and `adjacency` (0/1
rows, [i][j] = i -> j, both ways undirected), or `missing` if the program is not installed. It
imports nothing of fedbn, so that any interpreter that has the program can run it.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

Table = np.ndarray


def causal_learn_bdeu(table: Table) -> np.ndarray:
    """causal-learn's GES with its BDeu, which has a structure prior."""
    from causallearn.search.ScoreBased.GES import ges

    found = ges(table.astype(float), score_func="local_score_BDeu")
    return _from_endpoints(found["G"].graph)


def causal_learn_bic(table: Table) -> np.ndarray:
    """causal-learn's GES with its Gaussian BIC."""
    from causallearn.search.ScoreBased.GES import ges

    return _from_endpoints(ges(table, score_func="local_score_BIC_from_cov")["G"].graph)


def _from_endpoints(graph: np.ndarray) -> np.ndarray:
    """causal-learn: graph[i, j] = -1 is a tail at i, 1 an arrow head at i."""
    return np.asarray((graph == -1) & (graph.T != 0))


def pgmpy_hill_climbing(table: Table) -> np.ndarray:
    """pgmpy's hill climbing with BDeu, ess 1."""
    import pandas as pd
    from pgmpy.estimators import BDeu, HillClimbSearch

    names = [f"v{i}" for i in range(table.shape[1])]
    frame = pd.DataFrame(table, columns=names).astype("category")
    score = BDeu(frame, equivalent_sample_size=1)
    found = HillClimbSearch(frame).estimate(scoring_method=score, show_progress=False)
    matrix = np.zeros((len(names), len(names)), dtype=bool)
    for parent, child in found.edges():
        matrix[names.index(parent), names.index(child)] = True
    return matrix


def ges_package(table: Table) -> np.ndarray:
    """The package `ges`: forward and backward phase."""
    import ges

    found = ges.fit_bic(table, phases=["forward", "backward"])[0]
    return np.asarray(found, dtype=bool)


def xges_package(table: Table) -> np.ndarray:
    """The package `xges` in its XGES-0 form, with the penalty of BIC."""
    from xges import XGES

    model = XGES(alpha=1.0)
    found = model.fit(table, extended_search=False, verbose=0)
    names = range(table.shape[1])
    matrix = np.zeros((table.shape[1], table.shape[1]), dtype=bool)
    for i in names:
        for j in names:
            if found.has_directed_edge(i, j):
                matrix[i, j] = True
            elif found.has_undirected_edge(i, j):
                matrix[i, j] = matrix[j, i] = True
    return matrix


PROGRAMS: dict[str, tuple[Callable[[Table], np.ndarray], bool]] = {
    "causal-learn ges (bdeu, prior)": (causal_learn_bdeu, False),
    "pgmpy hill climbing": (pgmpy_hill_climbing, False),
    "causal-learn ges": (causal_learn_bic, False),
    "ges": (ges_package, False),
    "xges (xges-0)": (xges_package, True),
}
"""Name -> (function, whether its first run compiles)."""


def main(program: str, path: str) -> dict[str, Any]:
    """Run and measure one program."""
    with np.load(path) as arrays:
        table = arrays[arrays.files[0]]
    search, compiles = PROGRAMS[program]
    try:
        if compiles:
            search(table[:, : min(5, table.shape[1])])
        began = time.process_time()
        adjacency = search(table)
    except ImportError as error:
        return {"missing": str(error)}
    seconds = time.process_time() - began
    return {"seconds": seconds, "adjacency": adjacency.astype(int).tolist()}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], sys.argv[2])))
