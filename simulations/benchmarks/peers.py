"""Runs one search program on one table; started by `simulations.benchmarks.search`.

    PYTHON peers.py PROGRAM TABLE.npz SCORE

TABLE.npz has `table` (int or float [rows, n]) and `arities` (of categories [n], else [0]). One JSON
object is printed: `seconds` (CPU, without imports; of the second of two runs where the program
compiles itself) and `adjacency` (0/1 rows, [i][j] = i -> j, both ways undirected), or `missing` if
the program is not installed. It imports nothing of fedbn, so that any interpreter that has the
program can run it.

causal-learn takes minutes to hours for 30 nodes and more: nearly all in its BDeu (pandas, 30
milliseconds a family), and, where a node has many undirected neighbours, in looking for the subsets
that include another one. "vectorised" is causal-learn's own search with `VectorisedBDeu`,
`all_subsets` and `including` in place of these functions. They return the same, the score to the
last bit, which is checked first on random input; hence the same structure. Its seconds are not
causal-learn's.
"""

from __future__ import annotations

import json
import math
import random
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from itertools import chain, combinations
from typing import Any

import numpy as np
import pandas as pd

Table = np.ndarray
Search = Callable[[], np.ndarray]
"""Gives the adjacency matrix that it finds; the call is what the clock measures."""
_CASES_CHECKED = 20


def causal_learn_bdeu(table: Table) -> np.ndarray:
    """causal-learn's GES with its BDeu, which has a structure prior."""
    from causallearn.search.ScoreBased.GES import ges

    found = ges(table.astype(float), score_func="local_score_BDeu")
    return _from_endpoints(found["G"].graph)


class VectorisedBDeu:
    """causal-learn's `local_score_BDeu` by counting with numpy: the same additions in the same
    order, so the same value to the last bit.

    Parameters
    ----------
    table : states, [rows, n]; the states of a column are those that occur in it.
    """

    __name__ = "local_score_BDeu"

    def __init__(self, table: Table) -> None:
        columns = [np.unique(column, return_inverse=True) for column in table.T]
        self.codes = [codes for _, codes in columns]
        self.arities = [len(states) for states, _ in columns]

    def __call__(self, table: Table, node: int, parents: Sequence[int], _: Any = None) -> float:
        """The score of a family; higher is better."""
        arity, others = self.arities[node], len(self.arities) - 1
        q = math.prod(self.arities[p] for p in parents)
        prior = len(parents) * np.log(1 / others) + (others - len(parents)) * np.log(1 - 1 / others)
        counts = self._counts(node, parents)
        gains = _log_gammas(counts, 1 / (arity * q)) - math.lgamma(1 / (arity * q))
        second = np.zeros(len(counts))
        for k in range(arity):
            second = second + np.where(counts[:, k] > 0, gains[:, k], 0.0)
        first = math.lgamma(1 / q) - _log_gammas(counts.sum(axis=1), 1 / q)
        return float(np.add.accumulate(np.concatenate(([prior], first + second)))[-1])

    def _counts(self, node: int, parents: Sequence[int]) -> np.ndarray:
        """Rows per state, [configurations that occur, in order; states], the most frequent state
        first where there are parents."""
        arity, index, size = self.arities[node], np.zeros(len(self.codes[0]), dtype=np.int64), 1
        for p in parents:
            index, size = index * self.arities[p] + self.codes[p], size * self.arities[p]
            if size > 4 * len(index):
                index = np.unique(index, return_inverse=True)[1]
                size = int(index.max()) + 1
        counts = np.bincount(index * arity + self.codes[node], minlength=size * arity)
        counts = counts.reshape(size, arity)
        if len(parents):
            counts = -np.sort(-counts, axis=1)
        return np.asarray(counts[counts.sum(axis=1) > 0])


def _log_gammas(counts: np.ndarray, shift: float) -> np.ndarray:
    """ln Γ(count + shift) by the standard library; numpy has none."""
    found = np.zeros(int(counts.max()) + 1)
    some = np.flatnonzero(np.bincount(counts.ravel()))
    found[some] = [math.lgamma(count + shift) for count in some.tolist()]
    return np.asarray(found[counts])


def require_equal_scores(table: Table) -> None:
    """VectorisedBDeu gives what causal-learn gives, to the last bit, on random families.

    Raises
    ------
    RuntimeError : it does not.
    """
    from causallearn.score.LocalScoreFunction import local_score_BDeu

    rng, score, states = np.random.default_rng(0), VectorisedBDeu(table), table.astype(float)
    for _ in range(_CASES_CHECKED):
        size = int(rng.integers(1, min(6, table.shape[1] + 1)))
        node, *parents = rng.permutation(table.shape[1])[:size].tolist()
        theirs, ours = local_score_BDeu(states, node, parents), score(states, node, parents)
        if theirs != ours:
            raise RuntimeError(f"family {node} <- {parents}: {ours!r}, causal-learn: {theirs!r}")


class Subsets(list[tuple[int, ...]]):
    """All subsets of some nodes, smallest first, and each as a bit mask of positions."""

    def __init__(self, nodes: Sequence[int]) -> None:
        super().__init__(chain.from_iterable(combinations(nodes, k) for k in range(len(nodes) + 1)))
        self.bits = {node: 1 << place for place, node in enumerate(nodes)}
        self.masks = subset_masks(len(nodes))


@cache
def subset_masks(size: int) -> np.ndarray:
    """int64 [2 ** size], in the order of `Subsets`."""
    bits = [1 << place for place in range(size)]
    return np.array([sum(c) for k in range(size + 1) for c in combinations(bits, k)])


def including(chosen: Sequence[int], subsets: Subsets) -> np.ndarray:
    """1.0 for the subsets that include `chosen`, else 0.0; causal-learn's `find_subset_include`."""
    mask = sum(subsets.bits[node] for node in chosen)
    return np.asarray((subsets.masks & mask) == mask, dtype=float)


def require_equal_subsets() -> None:
    """`Subsets` and `including` give what causal-learn gives, on random sets of nodes.

    Raises
    ------
    RuntimeError : they do not.
    """
    from causallearn.utils.GESUtils import Combinatorial, find_subset_include

    rng = np.random.default_rng(0)
    for size in [*range(7)] * 3:
        nodes = sorted(rng.permutation(99)[:size].tolist())
        theirs, ours = Combinatorial(nodes), Subsets(nodes)
        equal = [tuple(subset) for subset in theirs] == ours and all(
            np.array_equal(find_subset_include(chosen, theirs), including(chosen, ours))
            for chosen in ours
        )
        if not equal:
            raise RuntimeError(f"subsets of {nodes} differ from causal-learn's")


def require_equal(table: Table) -> None:
    """All that is put in place of causal-learn's functions returns the same."""
    require_equal_subsets()
    require_equal_scores(table)


def causal_learn_vectorised(table: Table) -> np.ndarray:
    """causal-learn's GES, with functions that return the same and take less time."""
    import causallearn.search.ScoreBased.GES as module

    module.local_score_BDeu = VectorisedBDeu(table)
    module.Combinatorial = Subsets
    module.find_subset_include = including
    return causal_learn_bdeu(table)


def causal_learn_bic(table: Table) -> np.ndarray:
    """causal-learn's GES with its Gaussian BIC."""
    from causallearn.search.ScoreBased.GES import ges

    return _from_endpoints(ges(table, score_func="local_score_BIC_from_cov")["G"].graph)


def causal_learn_boss(table: Table) -> np.ndarray:
    """causal-learn's BOSS with its Gaussian BIC, of the penalty that its GES has; no Deletes."""
    from causallearn.search.PermutationBased.BOSS import boss

    found = boss(table, parameters={"lambda_value": 0.5}, verbose=False)
    return _from_endpoints(found.graph)


def causal_learn_grasp(table: Table) -> np.ndarray:
    """causal-learn's GRaSP of depth 3 with the same score."""
    from causallearn.search.PermutationBased.GRaSP import grasp

    found = grasp(table, parameters={"lambda_value": 0.5}, verbose=False)
    return _from_endpoints(found.graph)


def _from_endpoints(graph: np.ndarray) -> np.ndarray:
    """causal-learn: graph[i, j] = -1 is a tail at i, 1 an arrow head at i."""
    return np.asarray((graph == -1) & (graph.T != 0))


def pgmpy_hill_climbing(table: Table, arities: Sequence[int], score: str) -> Search:
    """pgmpy's hill climbing with BIC, or BDeu of ess 1; it takes the states that occur."""
    from pgmpy.estimators import BIC, BDeu, HillClimbSearch

    names = [f"v{i}" for i in range(table.shape[1])]
    frame = pd.DataFrame(table, columns=names).astype("category")

    def run() -> np.ndarray:
        method = BIC(frame) if score == "bic" else BDeu(frame, equivalent_sample_size=1)
        found = HillClimbSearch(frame).estimate(scoring_method=method, show_progress=False)
        matrix = np.zeros((len(names), len(names)), dtype=bool)
        for parent, child in found.edges():
            matrix[names.index(parent), names.index(child)] = True
        return matrix

    return run


def pyagrum(table: Table, arities: Sequence[int], score: str, search: str) -> Search:
    """pyAgrum's learner with BIC or BDeu (its weight 1) and no further prior, one thread; `search`
    is the method of it that chooses the search. It has read the table when its clock begins."""
    import pyagrum as gum

    names = [f"v{i}" for i in range(table.shape[1])]
    states = gum.BayesNet()
    for name, arity in zip(names, arities, strict=True):
        states.add(gum.LabelizedVariable(name, "", [str(state) for state in range(arity)]))
    learner = gum.BNLearner(pd.DataFrame(table, columns=names).astype(str), states)
    learner.setNumberOfThreads(1)
    if score == "bic":
        learner.useScoreBIC()
    else:
        learner.useScoreBDeu()
    learner.useNoPrior()
    getattr(learner, search)()

    def run() -> np.ndarray:
        matrix = np.zeros((len(names), len(names)), dtype=bool)
        for parent, child in learner.learnDAG().arcs():
            matrix[parent, child] = True
        return matrix

    return run


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


@dataclass(frozen=True)
class Program:
    """What makes a search of a table with arities for a score, the module that it needs, and what
    else is done before its clock begins."""

    begin: Callable[[Table, Sequence[int], str], Search]
    module: str
    prepare: Callable[[Table], object] = lambda table: None


def on_table(
    search: Callable[[Table], np.ndarray],
) -> Callable[[Table, Sequence[int], str], Search]:
    """A search for one score that finds the states by itself."""
    return lambda table, arities, score: partial(search, table)


_CAUSAL_LEARN = "causallearn.search.ScoreBased.GES"
_PERMUTATIONS = "causallearn.search.PermutationBased"


def seed_random(table: Table) -> None:
    """causal-learn draws orders from the generator of the standard library."""
    random.seed(1)


PROGRAMS: dict[str, Program] = {
    "causal-learn ges (bdeu, prior)": Program(on_table(causal_learn_bdeu), _CAUSAL_LEARN),
    "causal-learn ges (bdeu, prior), vectorised": Program(
        on_table(causal_learn_vectorised), _CAUSAL_LEARN, require_equal
    ),
    "pgmpy hill climbing": Program(pgmpy_hill_climbing, "pgmpy.estimators"),
    "causal-learn ges": Program(on_table(causal_learn_bic), _CAUSAL_LEARN),
    "causal-learn boss": Program(on_table(causal_learn_boss), f"{_PERMUTATIONS}.BOSS", seed_random),
    "causal-learn grasp": Program(
        on_table(causal_learn_grasp), f"{_PERMUTATIONS}.GRaSP", seed_random
    ),
    "ges": Program(on_table(ges_package), "ges"),
    "xges (xges-0)": Program(
        on_table(xges_package), "xges", lambda table: xges_package(table[:, :5])
    ),
    "pyagrum hill climbing": Program(partial(pyagrum, search="useGreedyHillClimbing"), "pyagrum"),
    "pyagrum tabu": Program(partial(pyagrum, search="useLocalSearchWithTabuList"), "pyagrum"),
}


def main(program: str, path: str, score: str) -> dict[str, Any]:
    """Run and measure one program."""
    with np.load(path) as arrays:
        table, arities = arrays["table"], arrays["arities"].tolist()
    chosen = PROGRAMS[program]
    try:
        import_module(chosen.module)
    except ImportError as error:
        return {"missing": str(error)}
    chosen.prepare(table)
    search = chosen.begin(table, arities, score)
    began = time.process_time()
    adjacency = search()
    seconds = time.process_time() - began
    return {"seconds": seconds, "adjacency": adjacency.astype(int).tolist()}


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))
