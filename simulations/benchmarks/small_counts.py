"""What rules for small counts cost: log-likelihood of held-out rows.

Ten sites count the families of the network that their rows were sampled from, and give what the
rule lets leave; the tables are made of the sums. `given` is the share of (site, family) that was
given, `lacking` the share of families that no site gave. A run ends without parameters then; here
such a family has equal probabilities, and `cost` are the nats per row that are lost by the rule.

    python -m simulations.benchmarks.small_counts
"""

from __future__ import annotations

import numpy as np
import typer

from fedbn.errors import PolicyError
from fedbn.federation.policy import SitePolicy
from fedbn.networks.catalog import load_network
from fedbn.networks.family_counts import FamilyCounts, count_families, families_of
from fedbn.networks.fitting import parameters_of_sites
from fedbn.networks.likelihood import log_likelihood
from fedbn.networks.network import BayesianNetwork
from fedbn.privacy.small_counts import RULES
from simulations.benchmarks.parameters import TEST_ROWS

SITES, ESS, DRAWS = 10, 10.0, 5
NETWORKS = ("asia", "sachs", "child")
ROWS = (500, 5_000, 50_000)


def compare(
    network: BayesianNetwork, rows: int, seed: int
) -> dict[str, tuple[float, float, float]]:
    """Rule -> log-likelihood per row, the share of families given, and that of those lacking."""
    rng = np.random.default_rng([seed, rows])
    families = families_of([network.dag])
    counts = [count_families(network.sample(rows, rng), families) for _ in range(SITES)]
    test = network.sample(TEST_ROWS, rng)
    found = {}
    for rule in RULES:
        told = [each for each in (_give(site, rule) for site in counts) if each is not None]
        given = sum(len(each.tables.families) for each in told) / (SITES * len(families))
        known = {family for each in told for family in each.tables.families}
        nobody = [_nothing(counts[0].of([each])) for each in families if each not in known]
        fitted = parameters_of_sites(network.dag, [*told, *nobody], ESS)
        found[rule] = (log_likelihood(fitted, test), given, len(nobody) / len(families))
    return found


def _give(counts: FamilyCounts, rule: str) -> FamilyCounts | None:
    try:
        return SitePolicy(disclosure=rule).permit_counts(counts, compared=False)
    except PolicyError:
        return None


def _nothing(counts: FamilyCounts) -> FamilyCounts:
    """The counts of a family in a table without rows."""
    empty = np.empty(0, dtype=np.int64)
    return FamilyCounts(counts.tables, empty, empty)


def main() -> None:
    """Print a row of a Markdown table for every network, number of rows and rule."""
    print("| network | rows a site | rule | cost | given | lacking |")
    print("|---|---|---|---|---|---|")
    for name in NETWORKS:
        network = load_network(name)
        assert isinstance(network, BayesianNetwork)
        for rows in ROWS:
            draws = [compare(network, rows, seed) for seed in range(DRAWS)]
            for rule in [each for each in RULES if each != "none"]:
                cost = np.mean([draw["none"][0] - draw[rule][0] for draw in draws])
                given, lacking = (np.mean([draw[rule][k] for draw in draws]) for k in (1, 2))
                print(f"| {name} | {rows} | {rule} | {cost:z.4f} | {given:.0%} | {lacking:.0%} |")


if __name__ == "__main__":
    typer.run(main)
