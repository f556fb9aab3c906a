"""Does knowledge that all inputs keep lead away from them? Random fusions with and without it.

python -m simulations.benchmarks.known_fusions --cases 1000 --seed 1

Per kind of inputs: in how many cases the consensus with knowledge is farther from the inputs than
that without, as far, or nearer; and the same for those cases in which a member of the class of the
consensus without knowledge keeps it, so that nothing forces it away.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np

from fedbn.consensus.mcbnc import mcbnc_paths
from fedbn.consensus.pooling import select_among
from fedbn.consensus.threshold import Consensus
from fedbn.errors import ConfigError
from fedbn.graphs.dag import DAG
from fedbn.graphs.knowledge import Knowledge
from fedbn.graphs.known_class import member_that_keeps
from fedbn.graphs.random import perturb, random_dag
from simulations.benchmarks.arguments import count, seed

KINDS = ("alike", "unlike")


def knowledge_along(order: Sequence[str], rng: np.random.Generator) -> Knowledge:
    """Some forbidden pairs, required edges or tiers that do not contradict an order."""
    pairs = [(a, b) for k, a in enumerate(order) for b in order[k + 1 :]]
    kinds = rng.choice(4, size=len(pairs), p=[0.05, 0.1, 0.1, 0.75])
    required = tuple(pair for pair, kind in zip(pairs, kinds, strict=True) if kind == 0)
    back = [(b, a) for (a, b), kind in zip(pairs, kinds, strict=True) if kind in (1, 2)]
    ahead = [pair for pair, kind in zip(pairs, kinds, strict=True) if kind == 2]
    cut = int(rng.integers(1, len(order)))
    tiers = (tuple(order[:cut]), tuple(order[cut:])) if rng.random() < 0.5 else ()
    return Knowledge(required, (*back, *ahead), tiers)


def inputs_that_keep(
    kind: str, names: tuple[str, ...], known: Knowledge, rng: np.random.Generator
) -> Iterator[DAG]:
    """DAGs without end that keep the knowledge: changes of one of them, or any."""
    base: DAG | None = None
    while True:
        most = len(names) * (len(names) - 1) // 2
        edges = int(rng.integers(min(len(names), most), min(2 * len(names), most) + 1))
        if kind == "alike" and base is not None:
            drawn = perturb(base, 3, rng=rng)
        else:
            drawn = random_dag(names, edges=edges, rng=rng)
        try:
            kept = known.with_required(drawn)
        except ConfigError:  # a cycle with the required edges
            continue
        base = base or kept
        yield kept


def case(
    kind: str, number: int, seed_: int, n: int
) -> tuple[Knowledge, list[DAG], Consensus, Consensus]:
    """Knowledge, inputs that keep it, and the consensus without and with it."""
    rng = np.random.default_rng([seed_, KINDS.index(kind), number])
    names = tuple(f"v{i}" for i in range(n))
    known = knowledge_along([names[i] for i in rng.permutation(n)], rng)
    source = inputs_that_keep(kind, names, known, rng)
    dags = [next(source) for _ in range(int(rng.integers(2, 7)))]
    _, free = select_among(mcbnc_paths(dags))
    _, bound = select_among(mcbnc_paths(dags, knowledge=known))
    assert not known.breaches(bound.dag)
    return known, dags, free, bound


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cases", type=count, default=1000, help="of each kind")
    parser.add_argument("--nodes", type=count, default=8)
    parser.add_argument("--seed", type=seed, default=1)
    given = parser.parse_args(arguments)
    print("| inputs | cases | farther | as far | nearer | mean SMHD without | with |")
    print("|---|---|---|---|---|---|---|")
    for kind in KINDS:
        found = [case(kind, k, given.seed, max(2, given.nodes)) for k in range(given.cases)]
        allowed = [f for f in found if member_that_keeps(f[2].dag, f[0]) is not None]
        for name, some in ((kind, found), (f"{kind}, allowed", allowed)):
            print(_row(name, [(free.mean_smhd, bound.mean_smhd) for _, _, free, bound in some]))


def _row(name: str, distances: Sequence[tuple[Fraction, Fraction]]) -> str:
    counts = [
        sum(bound > free for free, bound in distances),
        sum(bound == free for free, bound in distances),
        sum(bound < free for free, bound in distances),
    ]
    means = [float(sum(d[k] for d in distances) / max(1, len(distances))) for k in (0, 1)]
    cells = [name, len(distances), *counts, *(f"{mean:.3f}" for mean in means)]
    return "| " + " | ".join(map(str, cells)) + " |"


if __name__ == "__main__":
    main()
