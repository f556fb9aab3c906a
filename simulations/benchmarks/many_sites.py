"""Groups of many sites against one consensus of them, in CPU seconds.

    python -m simulations.benchmarks.many_sites --sites 10000 --variables 100 --groups 3

Sites of every group have a random DAG of their own (20 changes from the first group's), each with
five more changes. `groups` is everything that `--groups auto` adds: profiles, tree, test, and a
consensus for each group; `ratio` is that and one consensus of all, over one consensus of all.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TypeVar

import numpy as np

from fedbn.graphs.random import perturb, random_dag
from fedbn.groups.cut import cut_by_test
from fedbn.groups.fusing import GroupFusion
from fedbn.groups.profiles import SiteStructures, profiles_of
from fedbn.groups.tree import tree_of
from fedbn.networks.random import node_names
from simulations.benchmarks.arguments import count, seed

T = TypeVar("T")


def main() -> None:
    """Print one line per stage, then the ratio."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sites", type=count, default=10_000)
    parser.add_argument("--variables", type=count, default=100)
    parser.add_argument("--groups", type=count, default=3)
    parser.add_argument("--quorum", type=count, default=None, help="default: a tenth of a group")
    parser.add_argument("--seed", type=seed, default=1)
    given = parser.parse_args()
    sites, truth = many_sites(given.sites, given.variables, given.groups, given.seed)
    fuse = GroupFusion(quorum=given.quorum or max(1, given.sites // given.groups // 10))
    profiles, a = measure_stage("profiles", lambda: profiles_of(sites))
    tree, b = measure_stage("tree", lambda: tree_of(profiles))
    cut, c = measure_stage("test", lambda: cut_by_test(tree))
    right = cut.groups == truth
    print(f"{max(cut.groups) + 1} groups found, {'as' if right else 'not as'} they were made")
    parts = [
        [entry for entry, g in zip(sites, cut.groups, strict=True) if g == group]
        for group in range(max(cut.groups) + 1)
    ]
    _, d = measure_stage("a consensus for each", lambda: [fuse(part) for part in parts])
    _, whole = measure_stage("one consensus of all", lambda: fuse(sites))
    print(f"groups {a + b + c + d:.1f} s; ratio {(a + b + c + d + whole) / whole:.2f}")
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.1f} GB")


def many_sites(
    sites: int, variables: int, groups: int, seed: int
) -> tuple[Sequence[SiteStructures], tuple[int, ...]]:
    """The sites, in turn of the groups, and the group of each."""
    rng = np.random.default_rng(seed)
    first = random_dag(node_names(variables), rng=rng, edges=3 * variables // 2)
    centres = [first, *(perturb(first, 20, rng=rng) for _ in range(groups - 1))]
    truth = tuple(i % groups for i in range(sites))
    return [
        SiteStructures(f"{i:06}", (perturb(centres[g], 5, rng=rng),), (Fraction(1),), 1000)
        for i, g in enumerate(truth)
    ], truth


def measure_stage(stage: str, run: Callable[[], T]) -> tuple[T, float]:
    """What a stage gives, and its CPU seconds, which are printed."""
    began = time.process_time()
    found = run()
    spent = time.process_time() - began
    print(f"{stage}: {spent:.1f} s", flush=True)
    return found, spent


if __name__ == "__main__":
    main()
