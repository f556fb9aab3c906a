"""The part `untuned`: networks on which nothing was set, with the best pooled learner as the ruler.

Every rule of the ladder, of counts and of the climb was set on the networks of `cases.NETWORKS` and
on random ones of other seeds. Here are others, learned on pooled rows by GES, XGES and iterated
local search, of which the best is what a federation is compared with: by SMHD to the truth, and by
the log-likelihood of held-out rows with parameters from all rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from fedbn.graphs.random import random_dag
from fedbn.networks.catalog import load_network
from fedbn.networks.network import BayesianNetwork
from fedbn.networks.random import node_names, random_bayesian_network
from simulations.studies.pooling.shares import WORDS, groups, mean_of, never_worse
from simulations.study_cases import Case, Row
from simulations.study_report import Section

RULERS = ("ges", "xges", "ils")
"""Learners on the pooled rows."""

REPOSITORY = ("sachs", "water", "mildew", "barley", "pathfinder", "andes", "munin1", "pigs")
RANDOM = tuple(f"random {nodes} {number}" for number in range(1, 6) for nodes in (30, 60))
ROWS = (500, 1_000, 5_000)
EDGES_A_NODE = 1.4
STATES = (2, 6)

WAYS = ("today", "ladder", "counts", "climb")
LEAST = {"smhd": 2.0, "held_out": 0.02}
"""Distance of today's consensus from the ruler, below which no share is given."""

WANTED = {
    ("held_out", "ladder"): 0.60,
    ("held_out", "counts"): 0.80,
    ("held_out", "climb"): 0.95,
    ("smhd", "ladder"): 0.60,
    ("smhd", "counts"): 0.80,
    ("smhd", "climb"): 0.92,
}


def untuned_cases(smoke: bool, common: Case) -> Iterator[Case]:
    """Every network with every number of rows. Numbers of rows take turns from network to network,
    so that a seed that was cut short has all of both."""
    networks = ("sachs", RANDOM[0]) if smoke else (*REPOSITORY, *RANDOM)
    for turn in range(1 if smoke else len(ROWS)):
        for place, network in enumerate(networks):
            rows = ROWS[0] if smoke else ROWS[(place + turn) % len(ROWS)]
            yield {**common, "part": "untuned", "network": network, "rows": rows}


def network_of(name: str) -> BayesianNetwork:
    """A network of a case: by its name, or "random NODES NUMBER" with 2 to 6 states."""
    if name.startswith("random "):
        nodes, number = (int(word) for word in name.split()[1:])
        rng = np.random.default_rng([31, nodes, number])
        dag = random_dag(node_names(nodes), edges=round(EDGES_A_NODE * nodes), rng=rng)
        return random_bayesian_network(dag, rng=rng, states=STATES)
    network = load_network(name)
    assert isinstance(network, BayesianNetwork)
    return network


def _share(rows: Sequence[Row], way: str, by: str) -> float | None:
    """Of the way from today's consensus to the best pooled learner, by means over the seeds."""
    today = mean_of(rows, "today", by)
    best = min(mean_of(rows, ruler, by) for ruler in RULERS)
    return (today - mean_of(rows, way, by)) / (today - best) if today - best >= LEAST[by] else None


def promises(rows: Sequence[Row]) -> list[tuple[str, str, bool]]:
    """What was promised, what was found, and whether it holds."""
    found = []
    cells = groups(rows, ("network", "rows"))
    for (by, way), least in WANTED.items():
        shares = {key: share for key, own in cells if (share := _share(own, way, by)) is not None}
        mean = float(np.mean(np.minimum(list(shares.values()), 1.0))) if shares else 1.0
        below = [f"{n} {r} ({100 * shares[n, r]:.0f} %)" for n, r in shares if shares[n, r] < 0.5]
        text = f"{100 * mean:.0f} %, {len(shares)} cases; below 50 %: {', '.join(below) or 'none'}"
        found.append((f"{way}: {100 * least:.0f} % in {WORDS[by]}", text, mean >= least))
    return found + never_worse(rows)


def untuned_sections(rows: Sequence[Row]) -> list[Section]:
    """Promises, then distances and log-likelihoods of every way and of every ruler."""
    table = [[*words, "yes" if holds else "NO"] for *words, holds in promises(rows)]
    table.sort(key=lambda line: line[-1] == "yes")
    text = (
        "Share of the way from today's consensus to the best of GES, XGES and ils on all rows, of "
        "means over the seeds, no share above 100 %."
    )
    ways = (*WAYS, *RULERS)
    cells = groups(rows, ("network", "rows"))
    sections = [Section("Untuned networks", text, ("promise", "found", "holds"), table)]
    for by, words in WORDS.items():
        form = "{:.1f}" if by == "smhd" else "{:.3f}"
        lines = [
            [*key, len(own), *(form.format(abs(mean_of(own, way, by))) for way in ways)]
            for key, own in cells
        ]
        title = f"Untuned networks: {words}{' (minus, nats a row)' if by == 'held_out' else ''}"
        sections.append(Section(title, "", ("network", "rows", "seeds", *ways), lines))
    return sections
