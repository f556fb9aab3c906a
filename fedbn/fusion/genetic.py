"""Two genetic algorithms for fusions of bounded treewidth.

- `genetic_union`: bits choose arcs of G+; as near as possible to G+. After Torrijos, Gámez and
  Puerta, "Structural Fusion of Bayesian Networks with Limited Treewidth Using Genetic Algorithms",
  CEC 2024.
- `genetic_inputs`: bits choose arcs of every input, which are then fused under the order of the
  whole inputs; as near as possible to the inputs. After the same authors' pre-fusion pruning,
  GECCO 2025.

The papers were not at hand; the settings are those of the authors' programs (BayesFL, class
GeneticTreeWidthUnion): nearness is SMHD, multiplied by width / bound for a graph that is too wide;
populations of 20; two of the first individuals come from adding arcs greedily, the most frequent
first, within the bound and within the bound minus one, the others are random; the best individual
ever and the best of the last generation stay, the others are crossed at one point, each parent the
better of two; then bits flip with probabilities that depend on x = width / bound, so that narrow
graphs gain arcs and wide ones lose them.

What differs: 100 generations are the default where theirs are 1,000; treewidth is the true width,
not the size of the largest clique; equal frequencies are taken in name order; pre-fusion pruning
starts greedily from an arc's removal in all inputs at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from fedbn.arrays import Bools, Floats, Ints
from fedbn.errors import ConfigError
from fedbn.fusion.inputs import MergedInputs, merge_inputs
from fedbn.fusion.union import fuse_inputs
from fedbn.fusion.weights import Weight
from fedbn.graphs.bits import unpack
from fedbn.graphs.dag import DAG
from fedbn.graphs.distances import mean_smhd, smhd
from fedbn.graphs.graph import positions
from fedbn.graphs.treewidth import dag_treewidth


@dataclass(frozen=True)
class _Problem:
    """What the bits mean.

    groups : bits that the greedy start adds together, the most frequent first.
    chances : float64 [bits], chance of each bit in a random individual.
    express : the DAG of an individual. distance : what is to be small.
    """

    groups: Sequence[Ints]
    chances: Floats
    express: Callable[[Bools], DAG]
    distance: Callable[[DAG], Fraction]


@dataclass(frozen=True)
class _Individual:
    genes: Bools
    dag: DAG
    width: int
    fitness: float


def genetic_union(
    dags: Sequence[DAG],
    weights: Sequence[Weight] | None = None,
    rng: np.random.Generator | None = None,
    *,
    max_treewidth: int = 5,
    population: int = 20,
    generations: int = 100,
) -> DAG:
    """A subgraph of G+ of bounded treewidth that is near to G+.

    Parameters
    ----------
    dags, weights : the inputs.
    rng : the source of randomness; seed 0 without it.
    max_treewidth : bound, >= 1, on the treewidth of the moral graph.
    population, generations : of the genetic algorithm.

    Raises
    ------
    StructureError : no DAG, or DAGs over different names. ConfigError : a number is out of range.
    """
    inputs = merge_inputs(dags, weights)
    _, imaps, full = fuse_inputs(inputs)
    arcs = np.argwhere(full.adjacency)
    maps = np.stack([imap.adjacency for imap in imaps]).astype(np.int64)
    votes = np.tensordot(inputs.weight_array, maps, axes=1)[tuple(arcs.T)]

    def express(genes: Bools) -> DAG:
        matrix = np.zeros_like(full.adjacency)
        matrix[tuple(arcs[genes].T)] = True
        return DAG(full.names, matrix)

    problem = _Problem(
        groups=[np.array([k]) for k in np.argsort(-votes, kind="stable")],
        chances=_chances(votes),
        express=express,
        distance=lambda dag: Fraction(smhd(dag, full)),
    )
    return _evolve(problem, rng, max_treewidth, population, generations)


def genetic_inputs(
    dags: Sequence[DAG],
    weights: Sequence[Weight] | None = None,
    rng: np.random.Generator | None = None,
    *,
    max_treewidth: int = 5,
    population: int = 20,
    generations: int = 100,
) -> DAG:
    """A fusion of pruned inputs, of bounded treewidth, that is near to the inputs.

    Parameters and errors as for `genetic_union`; each arc of each distinct input is one bit.
    """
    inputs = merge_inputs(dags, weights)
    order, _, _ = fuse_inputs(inputs)
    sigma = positions(inputs.names, order).astype(np.int64)
    arcs = np.argwhere(inputs.adjacency)
    votes = np.tensordot(inputs.weight_array, inputs.adjacency.astype(np.int64), axes=1)
    pairs = np.argwhere(votes)
    ranked = pairs[np.argsort(-votes[tuple(pairs.T)], kind="stable")]
    problem = _Problem(
        groups=[np.flatnonzero((arcs[:, 1:] == pair).all(axis=1)) for pair in ranked],
        chances=np.full(len(arcs), 0.5),
        express=lambda genes: _fuse(inputs, arcs[genes], sigma),
        distance=lambda dag: mean_smhd(dag, inputs.dags, inputs.weights),
    )
    return _evolve(problem, rng, max_treewidth, population, generations)


def _chances(votes: Ints) -> Floats:
    """1 / (1 - ln f), f the frequency scaled to (0, 1]; 1/2 where all are as frequent."""
    if not votes.size or votes.min() == votes.max():
        return np.full(len(votes), 0.5)
    least = votes.min() - 1
    return np.asarray(1 / (1 - np.log((votes - least) / (votes.max() - least))))


def _fuse(inputs: MergedInputs, arcs: Ints, sigma: Ints) -> DAG:
    """Union of the I-maps, under σ, of the inputs with just these arcs (input, a, b)."""
    from fedbn._core.fusion import minimal_imaps

    pa = np.zeros_like(inputs.parent_bits)
    for i, a, b in arcs:
        pa[i, b, a >> 6] |= np.uint64(1) << np.uint64(a & 63)
    union = np.bitwise_or.reduce(minimal_imaps(pa, sigma))
    return DAG(inputs.names, unpack(union, len(inputs.names)).T)


def _evolve(
    problem: _Problem,
    rng: np.random.Generator | None,
    bound: int,
    population: int,
    generations: int,
) -> DAG:
    """The fittest DAG within the bound that is met."""
    if bound < 1 or population < 3 or generations < 0:
        raise ConfigError(
            "max_treewidth must be >= 1, population >= 3 and generations >= 0, "
            f"got {bound}, {population}, {generations}"
        )
    rng = np.random.default_rng(0) if rng is None else rng
    people = [_judge(problem, _greedy(problem, width), bound) for width in (bound, bound - 1)]
    best = people[0]
    for _ in range(population - 2):
        people.append(_judge(problem, rng.random(len(problem.chances)) < problem.chances, bound))
    for _ in range(generations):
        best = min([best, *(p for p in people if p.width <= bound)], key=lambda p: p.fitness)
        latest = min(people[1:], key=lambda p: p.fitness)
        crossed = [_cross(people, rng) for _ in range(population - 2)]
        judged = [best, latest, *(_judge(problem, genes, bound) for genes in crossed)]
        best = min([best, *(p for p in judged if p.width <= bound)], key=lambda p: p.fitness)
        people = [_judge(problem, _mutate(p, bound, rng), bound) for p in judged]
    return min([best, *(p for p in people if p.width <= bound)], key=lambda p: p.fitness).dag


def _judge(problem: _Problem, genes: Bools, bound: int) -> _Individual:
    dag = problem.express(genes)
    width = dag_treewidth(dag)
    return _Individual(genes, dag, width, float(problem.distance(dag)) * max(1.0, width / bound))


def _greedy(problem: _Problem, bound: int) -> Bools:
    """Groups of bits are set one after the other wherever the treewidth stays within the bound."""
    genes = np.zeros(len(problem.chances), dtype=np.bool_)
    for group in problem.groups:
        genes[group] = True
        if dag_treewidth(problem.express(genes)) > bound:
            genes[group] = False
    return genes


def _cross(people: Sequence[_Individual], rng: np.random.Generator) -> Bools:
    """Two parents, each the better of two, crossed at one point."""
    first, second = (
        min((people[i] for i in rng.integers(len(people), size=2)), key=lambda p: p.fitness)
        for _ in range(2)
    )
    point = int(rng.integers(max(1, len(first.genes))))
    return np.concatenate([first.genes[:point], second.genes[point:]])


def _mutate(individual: _Individual, bound: int, rng: np.random.Generator) -> Bools:
    """Bits flipped: narrow graphs gain arcs, wide ones lose them."""
    x = individual.width / bound
    loss = (x / 10) ** 2 if x < 1 else math.log10(x) / 3 + 0.01
    gain = ((x - 1) / 2) ** 2 + 0.01 if x < 1 else 0.01 / (x + 0.01)
    chance = np.where(individual.genes, loss, gain)
    return individual.genes ^ (rng.random(len(chance)) < chance)
