"""Slow, obvious twin of the consensus of sites that observe different variables.

A site is a set of nodes and a matrix over just these, in ascending order; nothing is padded, so
what is asked of a site is asked of its own graph with what it has of S.

python -m tests.naive_variables --cases 2000
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np

from fedbn.consensus.mcbnc import POOLINGS, McbncPath, mcbnc_path
from fedbn.consensus.threshold import path_states, select_consensus
from fedbn.consensus.votes import lower_bound, votes_of
from fedbn.graphs.dag import DAG
from tests import naive_consensus as naive
from tests.naive_consensus import Matrix


@dataclass
class Site:
    """One DAG that a site sends: its variables, ascending, the DAG over them, and whose it is."""

    nodes: list[int]
    dag: Matrix
    weight: Fraction = Fraction(1)
    owner: int = 0

    def own(self, nodes: set[int]) -> set[int]:
        """Positions, in the site's graph, of those of some nodes that it observes."""
        return {self.nodes.index(v) for v in nodes if v in self.nodes}

    def sees(self, *nodes: int) -> bool:
        return set(nodes) <= set(self.nodes)

    def arcs(self) -> set[tuple[int, int]]:
        return {(self.nodes[a], self.nodes[b]) for a, b in np.argwhere(self.dag)}

    def cut(self, x: int, y: int, s: set[int]) -> tuple[int, set[tuple[int, int]]]:
        (own_x,), (own_y,) = self.own({x}), self.own({y})
        size, arcs = naive.cut(self.dag, own_x, own_y, self.own(s))
        return size, {(self.nodes[a], self.nodes[b]) for a, b in arcs}

    def lose(self, arcs: set[tuple[int, int]]) -> None:
        for a, b in arcs:
            self.dag[self.nodes.index(a), self.nodes.index(b)] = False

    def copy(self) -> Site:
        return Site(list(self.nodes), self.dag.copy(), self.weight, self.owner)


def order(sites: list[Site], n: int) -> list[int]:
    """D2: from last to first the node of smallest mean cost over the sites that have it."""
    sites = [site.copy() for site in sites]
    left, out = list(range(n)), []
    while left:
        costs = {}
        for v in left:
            having = [site for site in sites if v in site.nodes]
            own = [(s.weight, naive.sink_cost(s.dag, s.nodes.index(v))) for s in having]
            weight = sum((w for w, _ in own), Fraction(0))
            costs[v] = sum((w * c for w, c in own), Fraction(0)) / weight
        v = min(left, key=lambda u: (costs[u], u))
        out.insert(0, v)
        left.remove(v)
        for site in sites:
            if v in site.nodes:
                place = site.nodes.index(v)
                naive.make_sink(site.dag, place)
                site.dag = np.delete(np.delete(site.dag, place, 0), place, 1)
                site.nodes.remove(v)
    return out


def fused(sites: list[Site], sigma: list[int]) -> Matrix:
    """D3: the union of the minimal I-maps under σ restricted to each site's variables."""
    out = np.zeros((len(sigma), len(sigma)), dtype=bool)
    for site in sites:
        own_sigma = [site.nodes.index(v) for v in sigma if v in site.nodes]
        for a, b in np.argwhere(naive.imap(site.dag, own_sigma)):
            out[site.nodes[a], site.nodes[b]] = True
    return out


def judges(sites: list[Site], x: int, y: int, s: set[int], least: int = 1) -> list[Site]:
    """D4: who observe x, y and all of S; where these are too few sites, who see most of S."""
    seeing = [site for site in sites if site.sees(x, y)]
    for size in range(len(s), -1, -1):
        found = [site for site in seeing if len(s & set(site.nodes)) >= size]
        if len({site.owner for site in found}) >= least:
            return found
    return seeing


def greedy_delete(
    union: Matrix, sites: list[Site], k_max: int, pooling: str, least: int
) -> list[tuple[tuple[int, int, tuple[int, ...]], Fraction, set[int], list[set]]]:
    """D4, D5: (x, y, H), Ψ, S and the arcs that every site loses, for every deletion."""
    p, sites, out = naive.cpdag(union), [site.copy() for site in sites], []
    known: dict[tuple, tuple[int, set]] = {}

    def cut(site: Site, x: int, y: int, s: set[int]) -> tuple[int, set]:
        key = tuple(site.nodes), site.dag.tobytes(), x, y, frozenset(s & set(site.nodes))
        if key not in known:
            known[key] = site.cut(x, y, s)
        return known[key]

    while p.any():
        best = None
        for x, y, h, s in naive.operators(p, k_max):
            heard = judges(sites, x, y, s, least)
            sizes = [cut(site, x, y, s)[0] for site in heard]
            psi = naive.pooled(sizes, [site.weight for site in heard], pooling)
            if best is None or psi < best[1]:
                best = (x, y, h), psi, s
        assert best is not None
        (x, y, h), psi, s = best
        lost = [cut(site, x, y, s)[1] if site.sees(x, y) else set() for site in sites]
        for site, arcs in zip(sites, lost, strict=True):
            site.lose(arcs)
        p = naive.deleted(p, x, y, h)
        out.append((*best, lost))
    return out


def distance(dag: Matrix, sites: list[Site]) -> Fraction:
    """D7: the mean over the sites of the pairs of their own on which the moral graphs differ."""
    total = sum((site.weight for site in sites), Fraction(0))
    found = Fraction(0)
    for site in sites:
        own = np.ix_(site.nodes, site.nodes)
        found += site.weight * int(np.triu(naive.moral(dag)[own] ^ naive.moral(site.dag)).sum())
    return found / total


def marginal(dag: Matrix, nodes: list[int]) -> Matrix:
    """D7: u, v of some nodes are joined where the other ones do not separate them."""
    out = np.zeros((len(nodes), len(nodes)), dtype=bool)
    for i, j in combinations(range(len(nodes)), 2):
        given = set(nodes) - {nodes[i], nodes[j]}
        out[i, j] = out[j, i] = not naive.separated(dag, nodes[i], nodes[j], given)
    return out


def bound(sites: list[Site], n: int) -> Fraction:
    """D8: pair by pair the smaller of the weights for and against, of those who see it."""
    total = sum((site.weight for site in sites), Fraction(0))
    found = Fraction(0)
    for x, y in combinations(range(n), 2):
        seeing = [site for site in sites if site.sees(x, y)]
        joined = sum(
            (s.weight for s in seeing if naive.moral(s.dag)[s.nodes.index(x), s.nodes.index(y)]),
            Fraction(0),
        )
        found += min(joined, sum((s.weight for s in seeing), Fraction(0)) - joined)
    return found / total


def random_sites(
    rng: np.random.Generator,
    n: int,
    r: int,
    missing: float,
    density: float,
    *,
    several: bool = False,
) -> list[Site]:
    """Sites that lack a share of the variables, but every variable is somewhere.

    Half of the times all are marginals of nothing in particular; else one DAG, cut to the nodes.
    With `several` a third of the sites send a second DAG.
    """
    names = list(range(n))
    shared = _random_dag(n, density, rng)
    alike = rng.random() < 0.5
    sites = []
    for i in range(r):
        nodes = [v for v in names if rng.random() >= missing or v % r == i]
        dag = shared if alike else _random_dag(n, density, rng)
        for _ in range(1 + (several and rng.random() < 1 / 3)):
            own = dag[np.ix_(nodes, nodes)] & (rng.random((len(nodes), len(nodes))) < 0.9)
            sites.append(Site(list(nodes), own, Fraction(int(rng.integers(1, 4))), i))
    return sites


def _random_dag(n: int, density: float, rng: np.random.Generator) -> Matrix:
    place = rng.permutation(n)
    return np.triu(rng.random((n, n)) < density, k=1)[np.ix_(place, place)]


def given(sites: list[Site], n: int) -> tuple[list[DAG], list[Fraction]]:
    """The same as DAGs over their own names, with their weights."""
    names = tuple(f"v{i}" for i in range(n))
    dags = [DAG(tuple(names[v] for v in site.nodes), site.dag) for site in sites]
    return dags, [site.weight for site in sites]


def compare(sites: list[Site], n: int, k_max: int, pooling: str, least: int = 1) -> McbncPath:
    """Order, G+, every deletion with S and lost arcs, distances and bound: as the twin says."""
    dags, weights = given(sites, n)
    path = mcbnc_path(
        dags,
        weights,
        k_max=k_max,
        pooling=pooling,
        variables="union",
        min_judges=least,
        sites=[site.owner for site in sites],
    )
    sigma = order(sites, n)
    assert path.order == tuple(path.names[v] for v in sigma)
    union = fused(sites, sigma)
    assert np.array_equal(path.union.adjacency, union)
    expected = greedy_delete(union, sites, k_max, pooling, least)
    assert len(expected) == len(path.steps)
    place = {i: k for k, members in enumerate(path.inputs.members) for i in members}
    largest = Fraction(0)
    for number, (step, ((x, y, h), psi, s, lost)) in enumerate(
        zip(path.steps, expected, strict=True)
    ):
        largest = max(largest, psi)
        found = tuple(path.names.index(v) for v in step.h)
        assert (step.x, step.y, found) == (path.names[x], path.names[y], h), number
        assert (step.psi, step.theta) == (psi, largest), number
        wanted = () if path.inputs.observed is None else sorted(s)
        assert step.given == tuple(path.names[v] for v in wanted)
        now = path.lost_arcs[path.lost_arcs[:, 0] == number]
        for i in range(len(sites)):
            assert {(int(a), int(b)) for _, k, a, b in now if k == place[i]} == lost[i], number
    assert lower_bound(votes_of(path.inputs)) == bound(sites, n)
    for state in path_states(path):
        assert state.mean_smhd == distance(state.dag.adjacency, sites)
    consensus = select_consensus(path)
    assert consensus.mean_smhd == distance(consensus.dag.adjacency, sites) >= bound(sites, n)
    return path


def random_comparison(seed: int) -> McbncPath:
    """The case of a seed."""
    rng = np.random.default_rng(seed)
    n, r = int(rng.integers(2, 7)), int(rng.integers(1, 6))
    missing, density = float(rng.choice([0.1, 0.3, 0.5])), float(rng.choice([0.3, 0.6]))
    sites = random_sites(rng, n, r, missing, density, several=True)
    k_max, pooling = int(rng.choice([0, 1, 10])), POOLINGS[seed % 3]
    return compare(sites, n, k_max, pooling, int(rng.integers(1, 4)))


def main() -> None:
    """Compare so many cases; stop at the first disagreement and say which it is."""
    parser = argparse.ArgumentParser(prog="python -m tests.naive_variables", description=__doc__)
    parser.add_argument("--cases", type=int, default=2000, help="how many (2000)")
    parser.add_argument("--first", type=int, default=0, help="seed of the first (0)")
    options = parser.parse_args()
    began, steps = time.process_time(), 0
    for seed in range(options.first, options.first + options.cases):
        try:
            steps += len(random_comparison(seed).steps)
        except AssertionError:
            print(f"disagreement: seed {seed}")
            raise
    seconds = time.process_time() - began
    print(f"{options.cases} cases, {steps} deletions agree, {seconds:.0f} CPU s")


if __name__ == "__main__":
    main()
