"""Outcomes whose reports are looked at: ordinary ones, and ones with names that mean harm."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from fedbn.consensus.mcbnc import mcbnc_path
from fedbn.consensus.threshold import select_consensus
from fedbn.graphs.dag import DAG
from fedbn.graphs.random import perturb, random_dag
from fedbn.networks.network import BayesianNetwork
from fedbn.networks.random import random_bayesian_network
from fedbn.results.outcome import Client, Outcome

SCRIPT = "</script><script>document.title='owned'</script>"
IMAGE = "<img src=x onerror=\"document.title='owned'\">"
HOSTILE = (
    SCRIPT,
    IMAGE,
    "\u202egnidaelsim\u202c",
    "bell\x07 and\nbreak",
    "年齢と健康状態の変数",
    "a" * 300,
    "'\"&<b>&amp;",
    "شدة المرض",
)


def outcome_of(names: list[str], sites: list[str], seed: int = 0, changes: int = 3) -> Outcome:
    """A fusion of perturb copies of a random DAG over these names, which is its gold network."""
    rng = np.random.default_rng(seed)
    names = sorted(names)
    gold = random_dag(names, edges=min(int(1.3 * len(names)), 2 * len(names) - 3), rng=rng)
    dags = [perturb(gold, changes, rng=rng) for _ in sites]
    path = mcbnc_path(dags)
    clients = tuple(
        Client(site, (dag,), (Fraction(1),), rows=100 + k)
        for k, (site, dag) in enumerate(zip(sites, dags, strict=True))
    )
    return Outcome(clients, path, select_consensus(path), gold=gold)


def ordinary() -> Outcome:
    """Twelve variables, five sites, one refused."""
    sites = [f"site {k}" for k in range(5)]
    outcome = outcome_of([f"v{k:02}" for k in range(12)], sites)
    return replace(outcome, refused=(("site 9", "round 1: site 9: no reply"),))


def hostile() -> Outcome:
    """Variables, sites, refusals and states whose names are HTML, or control the terminal."""
    sites = [SCRIPT, IMAGE, "\u202eetis\u202c"]
    outcome = outcome_of(list(HOSTILE), sites)
    return replace(
        outcome,
        refused=((IMAGE, SCRIPT),),
        lone_states=((SCRIPT, IMAGE, "\x00"),),
    )


def parameters(outcome: Outcome) -> BayesianNetwork:
    """Some parameters for the consensus."""
    dag: DAG = outcome.consensus.dag
    rng = np.random.default_rng(1)
    return random_bayesian_network(dag, rng=rng)


RUN = {
    "command": "simulate",
    "settings": {"network": "none", "learner": "ges", "score": "bdeu", "seed": 1},
    "versions": {"fedbn": "1"},
}
