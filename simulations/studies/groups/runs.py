"""One case of the study: tables, structures, groups by several ways, and what they are worth.

A way gives every site a group: `auto` (fedbn's test, rows told), `untold` (the same without the
sites' rows), `number` (the tree, its number of groups known), `k-means` on the flattened adjacency
(the idea of CFedCD) and `mixture` of independent edge probabilities (EM), both with the number
known.
Worth: adjusted Rand index, and the mean SMHD of the consensus that a site gets to its own truth.

In the parts that end in `lacking` sites lack variables (`columns_of_sites`). Ways are then `auto`,
`having` (as `auto`, but a site judges all pairs that it has), `number`, and, if every site sends
one structure, `whole` (`auto`, if nothing lacked).

In the part `several` every site sends the structures of `REPLICATES` bootstrap samples; ways are
then `single` (one structure each, as `auto` in the other parts), `redrawn` (all of them, rows told)
and `redrawn_untold`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
from scipy.cluster.vq import kmeans2

from fedbn.arrays import Array, Bools, Floats
from fedbn.data.dataset import Dataset
from fedbn.graphs.dag import DAG
from fedbn.graphs.distances import smhd
from fedbn.groups.cut import cut_by_test, cut_into
from fedbn.groups.fusing import GroupFusion
from fedbn.groups.profiles import SiteStructures, profiles_of
from fedbn.groups.tree import renumber, tree_of
from fedbn.learners import LearnerSettings, learn
from simulations.studies.groups.populations import (
    base_network,
    columns_of_sites,
    populations,
    rows_of_sites,
    tables_of,
)
from simulations.study_cases import Case, Row

REPLICATES = 20

RESTARTS = 10


def run_case(case: Case) -> Row:
    """ARI and number of groups of every way; distances, too, but in the part `several`."""
    name = [ord(letter) for letter in str(case["network"])]
    rng = np.random.default_rng([case["base"], case["seed"], case["rows"], *name, *case["sizes"]])
    base = base_network(str(case["network"]), rng)
    sources = populations(base, len(case["sizes"]), case["edges"], rng)
    rows = rows_of_sites(case["rows"] or None, sum(case["sizes"]), rng)
    tables, truth = tables_of(sources, case["sizes"], rows, rng)
    if "lacking" in case:
        words = map(ord, str(case["lacking"]))
        own = np.random.default_rng([case["base"], case["seed"], case["rows"], *name, *words])
        has = columns_of_sites(str(case["lacking"]), base, len(tables), own)
        several = case["part"] == "several-lacking"
        return _indices(_ways_of_lacking(tables, has, rows, max(truth) + 1, several), truth)
    dags = _learn_all(tables)
    if case["part"] == "several":
        return _indices(_ways_of_several(tables, dags, rows), truth)
    gold = [sources[group].dag for group in truth]
    row: Row = {"site": _mean([smhd(d, g) for d, g in zip(dags, gold, strict=True)])}
    known: dict[tuple[int, ...], float] = {}
    ways = _ways(dags, rows, truth, rng)
    for way, groups in ways.items():
        if groups not in known:
            known[groups] = _distance(dags, groups, gold)
        row[way] = known[groups]
    return row | _indices(ways, truth)


def _indices(ways: Mapping[str, tuple[int, ...]], truth: tuple[int, ...]) -> Row:
    row: Row = {}
    for way, groups in ways.items():
        row[f"{way}_ari"] = adjusted_rand_index(groups, truth)
        row[f"{way}_groups"] = max(groups) + 1
    return row


def _learn_all(tables: Sequence[Dataset]) -> list[DAG]:
    return [learn(table, LearnerSettings(), np.random.default_rng(0)).dags[0] for table in tables]


def _ways_of_lacking(
    tables: Sequence[Dataset], has: Bools, rows: Sequence[int], count: int, several: bool
) -> Mapping[str, tuple[int, ...]]:
    own = [
        table.select(sorted(name for name, there in zip(table.names, row, strict=True) if there))
        for table, row in zip(tables, has, strict=True)
    ]
    entries = _bootstrap_structures(own, rows) if several else _structures(_learn_all(own), rows)
    whole = GroupFusion(variables="union")(entries)
    tree = tree_of(profiles_of(entries, whole))
    having = profiles_of(entries, DAG.empty(whole.names))
    found = {
        "auto": cut_by_test(tree).groups,
        "having": cut_by_test(tree_of(having)).groups,
        "number": cut_into(tree, count).groups,
    }
    if not several:
        of_all = profiles_of(_structures(_learn_all(tables), rows))
        found["whole"] = cut_by_test(tree_of(of_all)).groups
    return found


def _bootstrap_structures(tables: Sequence[Dataset], rows: Sequence[int]) -> list[SiteStructures]:
    settings = LearnerSettings(learner="bootstrap", replicates=REPLICATES, max_dags=REPLICATES)
    learned = [learn(table, settings, np.random.default_rng(i)) for i, table in enumerate(tables)]
    return [
        SiteStructures(f"{i:03}", each.dags, tuple(map(_share, each.weights)), rows[i], True)
        for i, each in enumerate(learned)
    ]


def _share(weight: float) -> Fraction:
    return Fraction(weight).limit_denominator(REPLICATES)


def _ways_of_several(
    tables: Sequence[Dataset], dags: Sequence[DAG], rows: Sequence[int]
) -> Mapping[str, tuple[int, ...]]:
    told = _bootstrap_structures(tables, rows)
    silent = [replace(entry, rows=None) for entry in told]
    return {
        way: cut_by_test(tree_of(profiles_of(entries))).groups
        for way, entries in (
            ("single", _structures(dags, rows)),
            ("redrawn", told),
            ("redrawn_untold", silent),
        )
    }


def _ways(
    dags: Sequence[DAG], rows: Sequence[int], truth: tuple[int, ...], rng: np.random.Generator
) -> Mapping[str, tuple[int, ...]]:
    told = tree_of(profiles_of(_structures(dags, rows)))
    count = max(truth) + 1
    flat = np.array([dag.adjacency.ravel() for dag in dags], dtype=np.float64)
    return {
        "one": (0,) * len(dags),
        "oracle": truth,
        "auto": cut_by_test(told).groups,
        "untold": cut_by_test(tree_of(profiles_of(_structures(dags, None)))).groups,
        "number": cut_into(told, count).groups,
        "k_means": _k_means(flat, count, rng),
        "mixture": _mixture(flat, count, rng),
    }


def _structures(dags: Sequence[DAG], rows: Sequence[int] | None) -> list[SiteStructures]:
    return [
        SiteStructures(f"{i:03}", (dag,), (Fraction(1),), None if rows is None else rows[i])
        for i, dag in enumerate(dags)
    ]


def _distance(dags: Sequence[DAG], groups: tuple[int, ...], gold: Sequence[DAG]) -> float:
    """Mean over sites of the SMHD of its group's consensus to its own truth."""
    entries = _structures(dags, None)
    fuse = GroupFusion()
    of = [
        fuse([entry for entry, g in zip(entries, groups, strict=True) if g == group])
        for group in range(max(groups) + 1)
    ]
    return _mean([smhd(of[group], own) for group, own in zip(groups, gold, strict=True)])


def _mean(values: Sequence[int]) -> float:
    return float(np.mean(values))


def _k_means(flat: Floats, count: int, rng: np.random.Generator) -> tuple[int, ...]:
    """The best of some runs of Lloyd's algorithm, by scipy."""
    best, least = np.zeros(len(flat), np.int64), np.inf
    for _ in range(RESTARTS):
        centres, labels = kmeans2(flat, count, minit="++", rng=rng)
        cost = float(((flat - centres[labels]) ** 2).sum())
        if cost < least:
            best, least = labels.astype(np.int64), cost
    return renumber(best)


def _mixture(flat: Floats, count: int, rng: np.random.Generator) -> tuple[int, ...]:
    """The best of some runs of EM for a mixture of independent edges.

    Probabilities are smoothed by a hundredth of a site: with more, hundreds of absent edges put all
    sites into the larger component.
    """
    best, most = np.zeros(len(flat), np.int64), -np.inf
    for _ in range(RESTARTS):
        share = rng.dirichlet(np.full(count, 0.1), size=len(flat))
        for _ in range(50):
            size = share.sum(axis=0)
            p = (share.T @ flat + 0.01) / (size[:, None] + 0.02)
            log = flat @ np.log(p).T + (1 - flat) @ np.log1p(-p).T + np.log(size + 1.0)
            top = log.max(axis=1, keepdims=True)
            share = np.exp(log - top)
            share /= share.sum(axis=1, keepdims=True)
        value = float((top[:, 0] + np.log(np.exp(log - top).sum(axis=1))).sum())
        if value > most:
            best, most = share.argmax(axis=1).astype(np.int64), value
    return renumber(best)


def adjusted_rand_index(one: Sequence[int], other: Sequence[int]) -> float:
    """Hubert and Arabie (1985); 1 where both put all sites together, or each by itself.

    >>> adjusted_rand_index([0, 0, 1, 1], [1, 1, 0, 0]), adjusted_rand_index([0] * 4, [0, 0, 1, 1])
    (1.0, 0.0)
    """
    table = np.zeros((max(one) + 1, max(other) + 1))
    np.add.at(table, (list(one), list(other)), 1)

    def pairs(counts: Array) -> float:
        return float((counts * (counts - 1) / 2).sum())

    both, a, b = pairs(table), pairs(table.sum(axis=1)), pairs(table.sum(axis=0))
    expected = a * b / (len(one) * (len(one) - 1) / 2)
    return 1.0 if (a + b) / 2 == expected else (both - expected) / ((a + b) / 2 - expected)
