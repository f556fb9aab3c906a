"""The cases of the study, and the learners that are compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from fedbn.data.dataset import Dataset
from fedbn.graphs.dag import DAG
from fedbn.privacy.class_climb import dp_ges
from fedbn.privacy.climb import dp_climb
from fedbn.privacy.moments import dp_moments
from fedbn.privacy.zcdp import rho_of
from fedbn.scores import make_score
from fedbn.search.ges import ges
from simulations.study_cases import study_settings

HERE = Path(__file__).parent
PRIVATE: Mapping[str, Callable[..., tuple[DAG, Any]]] = {
    "dp-climb": dp_climb,
    "dp-ges": dp_ges,
    "dp-moments": dp_moments,
}
Settings = Mapping[str, Any]
Case = dict[str, Any]


def settings(smoke: bool) -> Settings:
    """experiment.toml; with `smoke` its smaller values."""
    return study_settings(HERE, smoke)


def learn_site(
    table: Dataset, mechanism: str, epsilon: float | None, delta: float, seed: int
) -> DAG:
    """The DAG of one site, by a private mechanism or by GES with BDeu.

    The noise is of a known seed, so that the study can be repeated: nothing here is private.
    """
    if mechanism == "ges":
        return ges(make_score("bdeu", table)).dag.reorder(table.names)
    assert epsilon is not None
    rho = Fraction(rho_of(epsilon, delta))
    return PRIVATE[mechanism](table, rho=rho, source=Random(seed))[0]


def site_seed(seed: int, site: int) -> int:
    """A seed of a site's noise that no other site has, nor another seed of the study."""
    return int(np.random.SeedSequence([seed, site, 7]).generate_state(1, np.uint64)[0])


def utility_cases(run: Settings) -> Iterator[Case]:
    """GES once per table, each private mechanism once per ε."""
    part = run["utility"]
    for network, rows, sites, epsilons in part["cases"]:
        for seed in range(1, part["seeds"] + 1):
            common = {"network": network, "rows": rows, "sites": sites, "seed": seed}
            yield {"part": "utility", **common, "mechanism": "ges", "epsilon": None}
            for epsilon in epsilons:
                for mechanism in part["mechanisms"]:
                    own = {"mechanism": mechanism, "epsilon": epsilon, "delta": part["delta"]}
                    yield {"part": "utility", **common, **own}


def sum_cases(run: Settings) -> Iterator[Case]:
    """Secure sums over the sites' GES structures."""
    part = run["sums"]
    for sites in part["sites"]:
        for look_ahead in part["look_ahead"]:
            yield {
                "part": "sums",
                "network": part["network"],
                "rows": part["rows"],
                "sites": sites,
                "look_ahead": look_ahead,
            }


def leak_cases(run: Settings) -> Iterator[Case]:
    """Flip rates, credible sets, shadow membership, re-identification."""
    part = run["leaks"]
    tables = {"network": part["network"], "per_table": part["per_table"]}
    for rows in part["rows"]:
        for row_weight in part["row_weights"]:
            own = {"rows": rows, "row_weight": row_weight, "removals": part["removals"]}
            yield {"part": "leaks", "game": "flips", **tables, **own}
    for rows in part["set_rows"]:
        for factor in part["bayes_factors"]:
            own = {"rows": rows, "bf": factor, "removals": part["set_removals"]}
            yield {"part": "leaks", "game": "sets", **tables, **own}
    shadow = {
        "part": "leaks",
        "game": "shadow",
        "network": part["shadow_network"],
        "rows": part["shadow_rows"],
        "targets": part["targets"],
        "shadows": part["shadows"],
    }
    for canary in (False, True):
        yield {**shadow, "canary": canary, "mechanism": "ges", "epsilon": None}
        for epsilon in part["epsilons"]:
            for mechanism in PRIVATE:
                yield {**shadow, "canary": canary, "mechanism": mechanism, "epsilon": epsilon}
    for alpha in [None, *part["alphas"]]:
        for mechanism, epsilon in (("ges", None), ("dp-ges", 1)):
            yield {
                "part": "leaks",
                "game": "reidentify",
                "network": part["reidentify_network"],
                "rows": part["reidentify_rows"],
                "sites": part["reidentify_sites"],
                "alpha": alpha,
                "mechanism": mechanism,
                "epsilon": epsilon,
            }


def audit_cases(run: Settings) -> Iterator[Case]:
    """Every audit of every mechanism, the broken ones among them."""
    part = run["audits"]
    for epsilon in part["epsilons"]:
        common = {"part": "audits", "epsilon": epsilon, "audits": part["audits"]}
        for mechanism in PRIVATE:
            for fault in ("none", "half the width", "budget undivided", "filtered", "seeded"):
                yield {**common, "audit": "replay", "mechanism": mechanism, "fault": fault}
            yield {
                **common,
                "audits": 1,
                "audit": "end to end",
                "mechanism": mechanism,
                "fault": "none",
                "runs": part["end_to_end"],
            }
        for fault in ("none", "half the width"):
            yield {
                **common,
                "audit": "one draw",
                "mechanism": "exponential mechanism",
                "fault": fault,
                "runs": part["runs"],
            }
        for fault in ("none", "only adds"):
            yield {
                **common,
                "audit": "outputs",
                "mechanism": "randomised response",
                "fault": fault,
                "runs": part["runs"],
            }
