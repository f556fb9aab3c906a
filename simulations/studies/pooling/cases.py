"""The cases of the study: which federations, and how large.

A case is one federation: network, rows a site, sites, how the sites differ (each its own parameters
with a `concentration`, or rows divided by latent clusters with an `alpha`), learner, score, seed.
All ways of choosing a consensus are compared on the same tables.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from simulations.studies.pooling.untuned import untuned_cases
from simulations.study_cases import Case

NETWORKS = ("child", "insurance", "alarm", "hailfinder", "hepar2", "win95pts")
DIFFERING = ("child", "alarm", "insurance", "hailfinder")
PARTS = ("alike", "differing", "mixed", "sites", "learners", "divided", "untuned")
ALIKE = {
    "part": "alike",
    "sites": 10,
    "learner": "ges",
    "score": "bdeu",
    "concentration": None,
    "alpha": None,
}


def cases(part: str, *, smoke: bool, seeds: int, first_seed: int = 1) -> Iterator[Case]:
    """The cases of one of PARTS, those of a seed together, so that a run cut short is balanced.

    Parameters
    ----------
    smoke : two small networks and one seed.
    seeds : how many otherwise.
    first_seed : the smallest of them.
    """
    for seed in range(first_seed, first_seed + (1 if smoke else seeds)):
        for case in _PARTS[part](smoke):
            yield {**case, "seed": seed}


def _alike(smoke: bool) -> Iterator[Case]:
    """Ten sites that sample the same network."""
    networks = ("child", "insurance") if smoke else NETWORKS
    for rows, network in product((500,) if smoke else (500, 1000, 200, 5000), networks):
        yield {**ALIKE, "network": network, "rows": rows}


def _sites(smoke: bool) -> Iterator[Case]:
    """More and fewer sites: of constant rows each, and of constant rows together."""
    networks = ("child",) if smoke else ("child", "insurance")
    for sites, network in product((3,) if smoke else (3, 5, 20, 50), networks):
        for rows in (500, 5000 // sites):
            yield {**ALIKE, "part": "sites", "network": network, "rows": rows, "sites": sites}


def _differing(smoke: bool) -> Iterator[Case]:
    """Sites whose tables are drawn around those of the network."""
    networks = ("child",) if smoke else DIFFERING
    for concentration, rows, network in product(
        (5.0, 20.0, 100.0), (500,) if smoke else (500, 2000), networks
    ):
        yield {
            **ALIKE,
            "part": "differing",
            "network": network,
            "rows": rows,
            "concentration": concentration,
        }


def _mixed_cases(smoke: bool) -> Iterator[Case]:
    """Half of the tables are the sites' own, the others shared."""
    for network in ("child",) if smoke else DIFFERING:
        yield {**ALIKE, "part": "mixed", "network": network, "rows": 2000, "concentration": 5.0}


def _learners(smoke: bool) -> Iterator[Case]:
    """Another learner; sites that score by AIC, which is bold without a row weight."""
    networks = ("child",) if smoke else DIFFERING
    for network, (learner, score) in product(networks, (("xges", "bdeu"), ("ges", "aic"))):
        yield {
            **ALIKE,
            "part": "learners",
            "network": network,
            "rows": 500,
            "learner": learner,
            "score": score,
        }


def _divided_cases(smoke: bool) -> Iterator[Case]:
    """One table, whose rows are divided by a Dirichlet distribution over latent clusters."""
    for alpha, network in product((0.1, 0.5), ("child",) if smoke else DIFFERING):
        yield {**ALIKE, "part": "divided", "network": network, "rows": 500, "alpha": alpha}


def _untuned_networks(smoke: bool) -> Iterator[Case]:
    """Networks on which nothing was set."""
    return untuned_cases(smoke, ALIKE)


_PARTS = {
    "alike": _alike,
    "differing": _differing,
    "mixed": _mixed_cases,
    "sites": _sites,
    "learners": _learners,
    "divided": _divided_cases,
    "untuned": _untuned_networks,
}
