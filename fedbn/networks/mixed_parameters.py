"""The parameters of a consensus with numbers from its sites' sums, and what these are like."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fedbn.arrays import Floats
from fedbn.errors import NetworkError
from fedbn.graphs.dag import DAG
from fedbn.networks.conditional_gaussian import (
    ConditionalGaussianNetwork,
    Regressions,
)
from fedbn.networks.conditional_sums import ConditionalSums, regressions_of_sites
from fedbn.networks.fitting import smoothed_table
from fedbn.networks.linear_gaussian import LinearGaussianNetwork
from fedbn.networks.mixed_sums import MixedFamilies, MixedSums
from fedbn.networks.moments import Moments, family_pairs, linear_gaussian_of, pooled_moments

Shifts = tuple[tuple[str, tuple[tuple[str, float], ...]], ...]
Spreads = tuple[tuple[str, tuple[tuple[str, float, float], ...]], ...]


@dataclass(frozen=True)
class MixedParameters:
    """A network, and the numbers of which every site has a constant of its own."""

    network: ConditionalGaussianNetwork
    shifts: Shifts


def mixed_parameters(
    wanted: MixedFamilies, sites: Mapping[str, MixedSums], ess: float = 1.0
) -> MixedParameters:
    """The network, every family from the rows of the sites that told it (at least one site); `ess`
    is the equivalent sample size of tables, and of equations (`fedbn.networks.conditional_sums`).

    Raises NetworkError, naming all, where no site told some family; DataError where a number has no
    noise.
    """
    names, lacking = wanted.schema.names, []
    parameters: list[Floats | Regressions] = []
    shifts = []
    for node, variable in enumerate(wanted.schema.variables):
        here = {site: sums for site, sums in sites.items() if node in sums.told}
        if not here:
            lacking.append(names[node])
        elif variable.states is not None:
            counts = np.sum([here[site].tables[node] for site in sorted(here)], axis=0)
            parameters.append(smoothed_table(counts, ess))
        else:
            own = {site: sums.numbers[node] for site, sums in here.items()}
            found = regressions_of_sites(variable.name, own, ess)
            parameters.append(found.equations)
            if found.shifts:
                shifts.append((variable.name, tuple(sorted(found.shifts.items()))))
    if lacking:
        families = "family" if len(lacking) == 1 else "families"
        raise NetworkError(f"nobody counted the {families} of {', '.join(map(repr, lacking))}")
    network = ConditionalGaussianNetwork(wanted.dag, wanted.schema, tuple(parameters))
    return MixedParameters(network, tuple(shifts))


def gaussian_parameters(
    dag: DAG, sites: Mapping[str, Moments]
) -> tuple[LinearGaussianNetwork, Shifts]:
    """The network of numbers alone from the moments of its sites (at least one; of
    `family_pairs(dag)`), and where these have constants; `dag` is over the names of the columns, in
    name order.

    Equations that are shared are those of the pooled rows, as `linear_gaussian_of` gives them; own
    ones are those within sites (`fedbn.networks.conditional_sums`). Raises DataError where a number
    has no noise.
    """
    pairs = family_pairs(dag)
    place = {pair: i for i, pair in enumerate(pairs)}
    shared = linear_gaussian_of(dag, pooled_moments(sites, pairs))
    coefficients, intercepts = shared.coefficients.copy(), shared.intercepts.copy()
    deviations = shared.standard_deviations.copy()
    shifts = []
    for node, name in enumerate(dag.names):
        parents = list(dag.parents(node))
        family = [*parents, node]
        block = [[place[min(i, j), max(i, j)] for j in family] for i in family]
        sums = {
            site: ConditionalSums(
                np.array([own.rows]), own.means[None, family], own.scatter[np.array(block)][None]
            )
            for site, own in sites.items()
        }
        found = regressions_of_sites(name, sums, ess=0.0)
        if found.shifts:
            coefficients[parents, node] = found.equations.coefficients[0]
            intercepts[node] = found.equations.intercepts[0]
            deviations[node] = found.equations.standard_deviations[0]
            shifts.append((name, tuple(sorted(found.shifts.items()))))
    if not shifts:
        return shared, ()
    return LinearGaussianNetwork(dag, coefficients, intercepts, deviations), tuple(shifts)


def spreads_of_sums(wanted: MixedFamilies, sites: Mapping[str, MixedSums]) -> Spreads:
    """Number -> site -> its mean and standard deviation there, as its sums say."""
    found = []
    for node, name in enumerate(wanted.schema.names):
        rows = []
        for site in sorted(sites):
            if node not in sites[site].numbers:
                continue
            own = sites[site].numbers[node]
            n = int(own.rows.sum())
            mean = math.fsum((own.rows * own.means[:, -1]).tolist()) / n
            within = own.products[:, -1, -1] + own.rows * (own.means[:, -1] - mean) ** 2
            spread = math.fsum(within[own.rows > 0].tolist()) / n
            rows.append((site, mean, math.sqrt(max(spread, 0.0))))
        if rows:
            found.append((name, tuple(rows)))
    return tuple(found)


def spreads_of_moments(dag: DAG, sites: Mapping[str, Moments]) -> Spreads:
    """The same of moments of numbers alone."""
    own = {pair: i for i, pair in enumerate(family_pairs(dag))}
    return tuple(
        (
            name,
            tuple(
                (
                    site,
                    float(sites[site].means[v]),
                    math.sqrt(max(float(sites[site].scatter[own[v, v]]), 0.0) / sites[site].rows),
                )
                for site in sorted(sites)
            ),
        )
        for v, name in enumerate(dag.names)
        if sites
    )


def families_held_back(
    wanted: MixedFamilies, sites: Mapping[str, MixedSums]
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Variable -> the sites that held its family back, of those that some have."""
    found = []
    for node, name in enumerate(wanted.schema.names):
        lacking = tuple(site for site in sorted(sites) if node not in sites[site].told)
        if lacking:
            found.append((name, lacking))
    return tuple(found)
