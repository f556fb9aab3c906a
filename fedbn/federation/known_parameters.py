"""The parameters of a consensus with numbers where sites have different columns.

A family is estimated from the sums of the sites that have all of it, as its table is where it is of
categories alone (`whole_families.py`). So two equations may be of different sites, and where sites
differ by constants, each is true of its own sites only: `ParameterSources.apart` names these.
"""

from __future__ import annotations

from collections.abc import Mapping

from fedbn.data.dataset import Dataset
from fedbn.data.schema import Kind, Schema
from fedbn.federation.whole_families import Columns, whole_families, with_own_families
from fedbn.fusion.numbers_last import with_numbers_last
from fedbn.graphs.dag import DAG
from fedbn.graphs.knowledge import Knowledge
from fedbn.networks.conditional_gaussian import Network
from fedbn.networks.mixed_parameters import (
    families_held_back,
    parameters_of_known_families,
    spreads_of_sums,
)
from fedbn.networks.mixed_sums import MixedFamilies, MixedSums, mixed_sums, sums_of_moments
from fedbn.networks.moments import family_pairs, moments_of
from fedbn.networks.parameter_sources import ParameterSources


def dag_with_parameters(consensus: DAG, schema: Schema, known: Knowledge | None) -> DAG:
    """The DAG whose families are asked for: of numbers alone the consensus."""
    if schema.kind == "gaussian":
        return consensus
    return with_numbers_last(consensus, schema, known)


def sums_of_table(table: Dataset, dag: DAG, kind: Kind) -> MixedSums:
    """The sums of the families that a table has all columns of, under the places of the DAG; `kind`
    is that of the agreed columns."""
    own = with_own_families(dag, table.names)
    if kind == "gaussian":
        sums = sums_of_moments(moments_of(table, family_pairs(own)), own)
    else:
        sums = mixed_sums(table, MixedFamilies(own, table.schema))
    return under_agreed_places(sums, dag, table.names)


def under_agreed_places(sums: MixedSums, dag: DAG, names: tuple[str, ...]) -> MixedSums:
    """What a site with these columns told of `with_own_families(dag, names)`, of its whole families
    alone, under the places of the DAG."""
    own = sorted(names)
    places = {own.index(name): dag.names.index(name) for name in whole_families(dag, names)}
    return sums.at(places)


def parameters_of_own_sums(
    consensus: DAG,
    schema: Schema,
    sums: Mapping[str, MixedSums],
    columns: Columns,
    known: Knowledge | None,
    ess: float,
) -> tuple[Network | None, ParameterSources]:
    """The network of the variables that are known with all their ancestors, and what it rests on.

    Parameters
    ----------
    consensus : over the schema's names, in that order.
    sums : at least one; site -> as `under_agreed_places` gives them.
    columns : of all sites that were asked.
    known : what the consensus keeps.
    ess : as in `fedbn.networks.mixed_parameters`.

    Raises DataError where a number has no noise.
    """
    dag = dag_with_parameters(consensus, schema, known)
    wanted = MixedFamilies(dag, schema)
    found = parameters_of_known_families(wanted, sums, ess)
    has = {site: whole_families(dag, [schema.names[k] for k in columns[site]]) for site in sums}
    held_back = [
        (name, tuple(site for site in sites if name in has[site]))
        for name, sites in families_held_back(wanted, sums)
    ]
    sources = ParameterSources(
        tuple(sorted(sums)),
        held_back=tuple(each for each in held_back if each[1]),
        shifts=found.shifts,
        apart=found.apart,
        spreads=spreads_of_sums(wanted, sums),
    ).of_dag(dag, consensus, known)
    return found.network, sources.without(dag, found.lacking, columns, schema.numbers)
