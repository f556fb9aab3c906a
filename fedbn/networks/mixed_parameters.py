"""The parameters of a consensus with numbers from its sites' sums, and what these are like."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass

import numpy as np

from fedbn.arrays import Floats
from fedbn.errors import NetworkError
from fedbn.graphs.dag import DAG
from fedbn.networks.conditional_gaussian import (
    ConditionalGaussianNetwork,
    Network,
    Regressions,
)
from fedbn.networks.conditional_sums import regressions_of_sites
from fedbn.networks.family_counts import Family
from fedbn.networks.fitting import smoothed_table, with_known_ancestors
from fedbn.networks.linear_gaussian import LinearGaussianNetwork
from fedbn.networks.mixed_sums import MixedFamilies, MixedSums, sums_of_moments
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
    found = _fit_families(wanted, sites, ess)
    lacking = [repr(name) for v, name in enumerate(wanted.schema.names) if v not in found.fitted]
    if lacking:
        families = "family" if len(lacking) == 1 else "families"
        raise NetworkError(f"nobody counted the {families} of {', '.join(lacking)}")
    parameters = tuple(found.fitted.values())
    network = ConditionalGaussianNetwork(wanted.dag, wanted.schema, parameters)
    return MixedParameters(network, found.shifts)


@dataclass(frozen=True)
class KnownParameters:
    """What sites with different columns know together.

    Attributes
    ----------
    network : of the variables whose parameters, and those of all ancestors, are known; None where
        no variable is such.
    lacking : the families that no site told.
    shifts : as in `MixedParameters`.
    apart : the numbers with such constants, and those that have one of them as parent, if not the
        same sites told the families of all these: the equations are each of its own sites, and may
        be of no population together.
    """

    network: Network | None
    lacking: tuple[Family, ...]
    shifts: Shifts
    apart: tuple[str, ...]


def parameters_of_known_families(
    wanted: MixedFamilies, sites: Mapping[str, MixedSums], ess: float = 1.0
) -> KnownParameters:
    """As `mixed_parameters`, where sites told the families that they have all columns of."""
    found = _fit_families(wanted, sites, ess)
    told = {
        v: tuple(site for site, own in sorted(sites.items()) if v in own.told) for v in found.fitted
    }
    return known_parameters(wanted, found.fitted, found.shifts, told)


def known_parameters(
    wanted: MixedFamilies,
    fitted: Mapping[int, Floats | Regressions],
    shifts: Shifts,
    told: Mapping[int, Hashable],
) -> KnownParameters:
    """What parameters of some variables, and constants of numbers among them, make known; `told` is
    by which sites those of a variable are. Where all columns are numbers the network is linear
    Gaussian."""
    dag, schema = wanted.dag, wanted.schema
    nodes = with_known_ancestors(dag, fitted)
    lacking = tuple(Family(v, dag.parents(v)) for v in range(dag.n) if v not in fitted)
    shifts = tuple(own for own in shifts if schema.index(own[0]) in nodes)
    shifted = {schema.index(name) for name, _ in shifts}
    below = {v for v in nodes if v in shifted or shifted.intersection(dag.parents(v))}
    here = {told[v] for v in below}
    apart = tuple(schema.names[v] for v in sorted(below)) if len(here) > 1 else ()
    network: Network | None = None
    if nodes:
        names = [schema.names[v] for v in nodes]
        parameters = tuple(fitted[v] for v in nodes)
        mixed = ConditionalGaussianNetwork(dag.restrict(names), schema.restrict(names), parameters)
        network = linear_gaussian(mixed) if schema.kind == "gaussian" else mixed
    return KnownParameters(network, lacking, shifts, apart)


@dataclass(frozen=True)
class _Fitted:
    """The parameters of the families that some site told, by variable, ascending; and shifts."""

    fitted: Mapping[int, Floats | Regressions]
    shifts: Shifts


def _fit_families(wanted: MixedFamilies, sites: Mapping[str, MixedSums], ess: float) -> _Fitted:
    fitted: dict[int, Floats | Regressions] = {}
    shifts = []
    for node, variable in enumerate(wanted.schema.variables):
        here = {site: sums for site, sums in sites.items() if node in sums.told}
        if not here:
            continue
        if variable.states is not None:
            counts = np.sum([here[site].tables[node] for site in sorted(here)], axis=0)
            fitted[node] = smoothed_table(counts, ess)
        else:
            own = {site: sums.numbers[node] for site, sums in here.items()}
            found = regressions_of_sites(variable.name, own, ess)
            fitted[node] = found.equations
            if found.shifts:
                shifts.append((variable.name, tuple(sorted(found.shifts.items()))))
    return _Fitted(fitted, tuple(shifts))


def linear_gaussian(network: ConditionalGaussianNetwork) -> LinearGaussianNetwork:
    """The same network, of numbers alone."""
    dag, n = network.dag, network.dag.n
    coefficients, intercepts, deviations = np.zeros((n, n)), np.zeros(n), np.zeros(n)
    for node in range(n):
        own = network.regressions(node)
        coefficients[list(dag.parents(node)), node] = own.coefficients[0]
        intercepts[node] = own.intercepts[0]
        deviations[node] = own.standard_deviations[0]
    return LinearGaussianNetwork(dag, coefficients, intercepts, deviations)


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
    shared = linear_gaussian_of(dag, pooled_moments(sites, family_pairs(dag)))
    sums = {site: sums_of_moments(own, dag) for site, own in sites.items()}
    shifts, equations = [], {}
    for node, name in enumerate(dag.names):
        own = {site: sums[site].numbers[node] for site in sites}
        found = regressions_of_sites(name, own, ess=0.0)
        if found.shifts:
            equations[node] = found.equations
            shifts.append((name, tuple(sorted(found.shifts.items()))))
    return _with_equations(shared, equations), tuple(shifts)


def _with_equations(
    network: LinearGaussianNetwork, equations: Mapping[int, Regressions]
) -> LinearGaussianNetwork:
    """The network with other equations of some numbers."""
    if not equations:
        return network
    coefficients, intercepts = network.coefficients.copy(), network.intercepts.copy()
    deviations = network.standard_deviations.copy()
    for node, own in equations.items():
        coefficients[list(network.dag.parents(node)), node] = own.coefficients[0]
        intercepts[node] = own.intercepts[0]
        deviations[node] = own.standard_deviations[0]
    return LinearGaussianNetwork(network.dag, coefficients, intercepts, deviations)


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
