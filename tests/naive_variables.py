"""Slow, obvious twin of the consensus of sites that observe different variables.

A site is a set of nodes and a matrix over just these, in ascending order; nothing is padded, so
what is asked of a site is asked of its own graph with what it has of S.

python -m tests.naive_variables --cases 2000
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np

from fedbn.consensus.mcbnc import mcbnc_path
from fedbn.consensus.path import POOLINGS, McbncPath
from fedbn.consensus.threshold import path_states, select_consensus
from fedbn.consensus.votes import lower_bound, votes_of
from fedbn.graphs.dag import DAG
from fedbn.graphs.knowledge import Knowledge
from tests import naive_consensus as naive
from tests import naive_groups
from tests.naive_consensus import Matrix
from tests.naive_knowledge import class_keeps, keeps, settled


def partitions(things: list) -> Iterator[list[list]]:
    """All ways to divide things into groups."""
    if not things:
        yield []
        return
    first, *rest = things
    for groups in partitions(rest):
        yield [[first], *groups]
        for k, group in enumerate(groups):
            yield [*groups[:k], [first, *group], *groups[k + 1 :]]


def can_form_blocks(columns: list[frozenset[int]], least: int) -> bool:
    """Whether any division of the sites, those with the same columns together, is into blocks of at
    least so many sites that have a column in common."""
    return any(
        all(
            frozenset.intersection(*block) and sum(map(columns.count, block)) >= least
            for block in blocks
        )
        for blocks in partitions(sorted(set(columns), key=sorted))
    )


def greedy_blocks(columns: list[frozenset[int]], least: int) -> list[frozenset[int]] | None:
    """What each site answers for where no union is ever undone; None where that comes to a block
    without a column, or there are too few sites."""
    blocks = [
        ([i for i, other in enumerate(columns) if other == own], own)
        for own in dict.fromkeys(columns)
    ]

    def lost(one: tuple[list[int], frozenset[int]], two: tuple[list[int], frozenset[int]]) -> int:
        return sum(len(sites) * len(own - (one[1] & two[1])) for sites, own in (one, two))

    while len(blocks) > 1 and min(len(sites) for sites, _ in blocks) < least:
        small = min(blocks, key=lambda block: (len(block[0]), block[0]))
        blocks.remove(small)
        other = min(blocks, key=lambda block: (lost(small, block), block[0]))
        blocks.remove(other)
        blocks.append((sorted(small[0] + other[0]), small[1] & other[1]))
    if len(columns) < least or not all(own for _, own in blocks):
        return None
    return [next(own for sites, own in blocks if i in sites) for i in range(len(columns))]


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


def order(sites: list[Site], n: int, before: frozenset[tuple[int, int]] = frozenset()) -> list[int]:
    """D2: from last to first the node of smallest mean cost over the sites that have it.

    before : (u, v) where u must precede v.
    """
    sites = [site.copy() for site in sites]
    left, out = list(range(n)), []
    while left:
        costs = {}
        able = [v for v in left if not any((v, u) in before for u in left)]
        for v in able:
            having = [site for site in sites if v in site.nodes]
            own = [(s.weight, naive.sink_cost(s.dag, s.nodes.index(v))) for s in having]
            weight = sum((w for w, _ in own), Fraction(0))
            costs[v] = sum((w * c for w, c in own), Fraction(0)) / weight
        v = min(able, key=lambda u: (costs[u], u))
        out.insert(0, v)
        left.remove(v)
        for site in sites:
            if v in site.nodes:
                place = site.nodes.index(v)
                naive.make_sink(site.dag, place)
                site.dag = np.delete(np.delete(site.dag, place, 0), place, 1)
                site.nodes.remove(v)
    return out


def fused(sites: list[Site], sigma: list[int], quorum: int = 1) -> Matrix:
    """D3: the union of the minimal I-maps under σ restricted to each site's variables.

    quorum : how many must have an arc; where fewer see both ends, all of these, unless all sites
        have the same nodes.
    """
    n = len(sigma)
    votes = np.zeros((n, n), dtype=int)
    for site in sites:
        own_sigma = [site.nodes.index(v) for v in sigma if v in site.nodes]
        for a, b in np.argwhere(naive.imap(site.dag, own_sigma)):
            votes[site.nodes[a], site.nodes[b]] += 1
    out = np.zeros((n, n), dtype=bool)
    is_whole = all(site.nodes == sites[0].nodes for site in sites)
    for a, b in np.argwhere(votes):
        seeing = quorum if is_whole else sum(site.sees(a, b) for site in sites)
        out[a, b] = votes[a, b] >= min(quorum, seeing)
    return out


def known_fusion(
    sites: list[Site], n: int, quorum: int = 1, knowledge: Knowledge | None = None
) -> tuple[list[int], Matrix]:
    """The order and G+."""

    def fuse(before: frozenset[tuple[int, int]] = frozenset()) -> tuple[list[int], Matrix]:
        sigma = order(sites, n, before)
        return sigma, fused(sites, sigma, quorum)

    return fuse() if knowledge is None else settled(fuse, names_of(n), knowledge)


def judges(sites: list[Site], x: int, y: int, s: set[int], least: int = 1) -> list[Site]:
    """D4: who observe x, y and all of S; where these are too few sites, who see most of S."""
    seeing = [site for site in sites if site.sees(x, y)]
    for size in range(len(s), -1, -1):
        found = [site for site in seeing if len(s & set(site.nodes)) >= size]
        if len({site.owner for site in found}) >= least:
            return found
    return seeing


def greedy_delete(
    union: Matrix,
    sites: list[Site],
    k_max: int,
    pooling: str,
    least: int,
    knowledge: Knowledge | None = None,
) -> list[tuple[tuple[int, int, tuple[int, ...]], Fraction, set[int], list[set]]]:
    """D4, D5: (x, y, H), Ψ, S and the arcs that every site loses, for every deletion; each leads to
    a class with a member that keeps the knowledge."""
    p, sites, out = naive.cpdag(union), [site.copy() for site in sites], []
    known: dict[tuple, tuple[int, set]] = {}
    allowed: dict[bytes, bool] = {}

    def is_allowed(after: Matrix) -> bool:
        key = after.tobytes()
        if knowledge is not None and key not in allowed:
            allowed[key] = class_keeps(after, names_of(len(after)), knowledge)
        return knowledge is None or allowed[key]

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
            if not heard:  # a required edge of variables that no site has both of
                assert knowledge is not None
                continue
            psi = naive.pooled(sizes, [site.weight for site in heard], pooling)
            if (best is None or psi < best[1]) and is_allowed(naive.deleted(p, x, y, h)):
                best = (x, y, h), psi, s
        if best is None:
            assert knowledge is not None
            return out
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


def usual_distance(dag: Matrix, sites: list[Site]) -> Fraction:
    """The smallest distance to a site that those of half of the weight do not exceed."""
    found = sorted((distance(dag, [site]), site.weight) for site in sites)
    total = sum(weight for _, weight in found)
    return next(
        usual for usual, _ in found if 2 * sum(w for far, w in found if far <= usual) >= total
    )


def marginal(dag: Matrix, nodes: list[int]) -> Matrix:
    """D7: u, v of some nodes are joined where the other ones do not separate them."""
    out = np.zeros((len(nodes), len(nodes)), dtype=bool)
    for i, j in combinations(range(len(nodes)), 2):
        given = set(nodes) - {nodes[i], nodes[j]}
        out[i, j] = out[j, i] = not naive.separated(dag, nodes[i], nodes[j], given)
    return out


def heard(sites: list[Site], x: int, y: int, dag: Matrix) -> list[Site]:
    """Who judges a pair by a DAG; where nobody does, who has both and does not join them, or else
    all who have both."""

    def is_judge(site: Site) -> bool:
        has = [v in site.nodes for v in range(len(dag))]
        moral = naive.moral_without(dag, naive.ancestors(dag, set(site.nodes)), set())[0]
        return naive_groups.judges(x, y, has, [set(np.flatnonzero(row)) for row in moral])

    seeing = [site for site in sites if site.sees(x, y)]
    judging = [site for site in seeing if is_judge(site)]
    return judging or [site for site in seeing if not joins(site, x, y)] or seeing


def joins(site: Site, x: int, y: int) -> bool:
    """Whether a site's moral graph does."""
    return bool(naive.moral(site.dag)[site.nodes.index(x), site.nodes.index(y)])


def distance_to_judges(dag: Matrix, sites: list[Site], first: Matrix) -> Fraction:
    """The same as `distance`, over those who are heard on each pair by the first DAG."""
    total = sum((site.weight for site in sites), Fraction(0))
    found = Fraction(0)
    for x, y in combinations(range(len(dag)), 2):
        joined = naive.moral(dag)[x, y]
        for site in heard(sites, x, y, first):
            found += site.weight * (joins(site, x, y) != joined)
    return found / total


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
    shared = random_dag(n, density, rng)
    alike = rng.random() < 0.5
    sites = []
    for i in range(r):
        nodes = [v for v in names if rng.random() >= missing or v % r == i]
        dag = shared if alike else random_dag(n, density, rng)
        for _ in range(1 + (several and rng.random() < 1 / 3)):
            own = dag[np.ix_(nodes, nodes)] & (rng.random((len(nodes), len(nodes))) < 0.9)
            sites.append(Site(list(nodes), own, Fraction(int(rng.integers(1, 4))), i))
    return sites


def random_dag(n: int, density: float, rng: np.random.Generator) -> Matrix:
    place = rng.permutation(n)
    return np.triu(rng.random((n, n)) < density, k=1)[np.ix_(place, place)]


def names_of(n: int) -> tuple[str, ...]:
    return tuple(f"v{i}" for i in range(n))


def random_knowledge(rng: np.random.Generator, n: int) -> Knowledge:
    """Up to one required edge, some forbidden ones and perhaps two tiers, along a random order."""
    names = [names_of(n)[v] for v in rng.permutation(n)]
    pairs = list(combinations(names, 2))
    required = [pairs[k] for k in rng.permutation(len(pairs))[: int(rng.integers(0, 2))]]
    both = [*pairs, *((b, a) for a, b in pairs)]
    barred = [both[k] for k in rng.permutation(len(both))[: int(rng.integers(0, 4))]]
    half = int(rng.integers(1, n))
    tiers = (names[:half], names[half:]) if rng.random() < 0.3 else ()
    return Knowledge(tuple(required), tuple(e for e in barred if e not in required), tiers)


def given(sites: list[Site], n: int) -> tuple[list[DAG], list[Fraction]]:
    """The same as DAGs over their own names, with their weights."""
    names = names_of(n)
    dags = [DAG(tuple(names[v] for v in site.nodes), site.dag) for site in sites]
    return dags, [site.weight for site in sites]


def compare(
    sites: list[Site],
    n: int,
    k_max: int,
    pooling: str,
    least: int = 1,
    quorum: int = 1,
    knowledge: Knowledge | None = None,
) -> McbncPath:
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
        quorum=quorum,
        knowledge=knowledge,
    )
    sigma, union = known_fusion(sites, n, quorum, knowledge)
    assert path.order == tuple(path.names[v] for v in sigma)
    assert np.array_equal(path.union.adjacency, union)
    expected = greedy_delete(union, sites, k_max, pooling, least, knowledge)
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
        assert knowledge is None or keeps(state.dag, knowledge)
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
    least, quorum = int(rng.integers(1, 4)), int(rng.choice([1, 1, 2, 3]))
    knowledge = random_knowledge(rng, n) if n < 5 and rng.random() < 0.5 else None
    return compare(sites, n, k_max, pooling, least, quorum, knowledge)


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
