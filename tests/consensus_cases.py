"""Random cases of the consensus, checked against the slow twins: one by one, or as a long soak.

python -m tests.consensus_cases --cases 2000
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from fedbn.consensus.mcbnc import mcbnc_paths
from fedbn.consensus.path import McbncPath
from fedbn.consensus.pooling import ROBUST, Robust, poolings_of, select_among
from fedbn.consensus.votes import missing_pairs, votes_of
from fedbn.graphs.dag import DAG
from fedbn.graphs.random import perturb
from tests import naive_choice as twin
from tests import naive_consensus as naive
from tests.naive_consensus import Matrix

KINDS = ("dense", "sparse", "similar", "identical", "empty among others", "one dense", "alike")


@dataclass(frozen=True)
class Case:
    """Inputs and settings of one consensus; `seed` makes it again."""

    seed: int
    kind: str
    dags: list[DAG]
    weights: list[int] | None
    k_max: int
    robust: Robust
    random_ties: bool


def random_dag(n: int, density: float, rng: np.random.Generator) -> DAG:
    upper = np.triu(rng.random((n, n)) < density, k=1)
    place = rng.permutation(n)
    return DAG(tuple(f"v{i}" for i in range(n)), upper[np.ix_(place, place)])


def random_case(seed: int) -> Case:
    """The case of a seed: kind, pooling and ties go round, the rest is drawn."""
    rng = np.random.default_rng(seed)
    kind = KINDS[seed % len(KINDS)]
    n, r = int(rng.integers(2, 6)), int(rng.integers(2, 5))
    if kind == "dense":
        dags = [random_dag(n, float(rng.choice([0.7, 0.9, 1.0])), rng) for _ in range(r)]
    elif kind == "sparse":
        dags = [random_dag(n, 0.35, rng) for _ in range(r)]
    elif kind == "similar":
        base = random_dag(n, 0.5, rng)
        dags = [perturb(base, int(rng.integers(0, n)), rng=rng) for _ in range(r)]
    elif kind == "alike":
        base = random_dag(max(4, n), 0.5, rng)
        dags = [perturb(base, int(rng.integers(0, 3)), rng=rng) for _ in range(3 * r + 4)]
    elif kind == "identical":
        dags = [random_dag(n, float(rng.random()), rng)] * r
    elif kind == "empty among others":
        dags = [
            *(random_dag(n, 0.6, rng) for _ in range(r - 1)),
            DAG.empty([f"v{i}" for i in range(n)]),
        ]
    else:
        dags = [random_dag(n, 0.35, rng)] * (r - 1) + [random_dag(n, 1.0, rng)]
    return Case(
        seed=seed,
        kind=kind,
        dags=dags,
        weights=[int(w) for w in rng.integers(1, 5, size=len(dags))]
        if rng.random() < 0.5
        else None,
        k_max=int(rng.choice([0, 1, 10])),
        robust=ROBUST[seed // len(KINDS) % len(ROBUST)],
        random_ties=seed // (len(KINDS) * len(ROBUST)) % 2 == 1,
    )


def check(case: Case) -> None:
    """Every step, every state, the choice, the written member: as the twins say."""
    paths = paths_of(case, case.dags, case.weights, case.random_ties)
    inputs = paths[0].inputs
    matrices, weights = [dag.adjacency for dag in inputs.dags], inputs.weights
    every = [states_of(path, case.random_ties) for path in paths]
    wanted = twin.preferred([state for own in every for state in own])
    judging = list(range(len(weights)))

    def agree(places: list[int]) -> Matrix:
        dags = [inputs.dags[i] for i in places]
        rest = paths_of(case, dags, [weights[i] for i in places])
        return twin.preferred([state for path in rest for state in states_of(path)]).dag

    agreed = twin.agreed_by_rest(wanted.dag, matrices, weights, agree)
    if agreed is not None:
        dag, judging = agreed
        distances = twin.distances_of(dag, matrices, [Fraction(w) for w in weights])
        wanted = twin.State(None, "others", wanted.pooling, dag, *distances)

    _, consensus = select_among(paths)
    found = consensus.state
    assert (found.mean_smhd, found.mean_shd) == (wanted.smhd, wanted.shd)
    assert (found.reading, found.pooling, found.theta) == wanted[1:2] + wanted[2:3] + wanted[:1]
    assert np.array_equal(naive.cpdag(consensus.dag.adjacency), naive.cpdag(wanted.dag))
    heard, heard_weights = [matrices[i] for i in judging], [weights[i] for i in judging]
    nearest = max(
        twin.agreement(member, heard, heard_weights) for member in twin.members(wanted.dag)
    )
    assert twin.agreement(consensus.dag.adjacency, heard, heard_weights) == nearest
    if len(matrices) == 1 and case.k_max == 10:
        assert np.array_equal(consensus.dag.adjacency, matrices[0])
    assert consensus.missing_pairs == missing_pairs(consensus.dag, votes_of(inputs))
    assert consensus.gap >= 0


def paths_of(
    case: Case, dags: list[DAG], weights: list[int] | None, random_ties: bool = False
) -> tuple[McbncPath, ...]:
    """The paths of some inputs under the settings of a case."""
    rng = np.random.default_rng(case.seed) if random_ties else None
    return mcbnc_paths(dags, weights, poolings_of(case.robust), k_max=case.k_max, rng=rng)


def states_of(path: McbncPath, random_ties: bool = False) -> list[twin.State]:
    """What a path that the twin has followed may choose from."""
    return twin.states(path, twin.follow(path, random_ties))


def main() -> None:
    """Check so many cases; stop at the first disagreement and say which it is."""
    parser = argparse.ArgumentParser(prog="python -m tests.consensus_cases", description=__doc__)
    parser.add_argument("--cases", type=int, default=2000, help="how many (2000)")
    parser.add_argument("--first", type=int, default=0, help="seed of the first (0)")
    options = parser.parse_args()
    began = time.process_time()
    for seed in range(options.first, options.first + options.cases):
        case = random_case(seed)
        try:
            check(case)
        except AssertionError:
            print(f"disagreement: {case}")
            raise
        if (seed + 1) % 100 == 0:
            print(f"{seed + 1 - options.first} cases agree", flush=True)
    print(f"{options.cases} cases agree, {time.process_time() - began:.0f} CPU s")


if __name__ == "__main__":
    main()
