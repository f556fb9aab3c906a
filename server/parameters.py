"""After the last round: the parameters of the consensus, from sums over the sites.

Categorical: one request for the exact counts of the consensus' families, whose sum gives the tables
of the pooled rows, byte for byte. Gaussian: moments of the families, put together. Mixed: counts of
categories, and for every number moments by configuration of its categories. Where nobody's policy
lets them leave, the run ends without parameters; where a site holds families with small counts
back, log and `run.json` say which tables are without its rows.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import TypeVar

from flwr.app import MessageType, RecordDict

from fedbn.errors import DataError, NetworkError
from fedbn.federation.family_message import FamilyAnswer, FamilyRequest
from fedbn.federation.known_parameters import (
    dag_with_parameters,
    parameters_of_own_sums,
    under_agreed_places,
)
from fedbn.federation.message import StructureMessage, to_arrays
from fedbn.federation.settings import Experiment
from fedbn.federation.state import FederationResult
from fedbn.federation.sums_message import (
    CONDITIONALS,
    MOMENTS,
    moments_from_arrays,
    sums_from_arrays,
)
from fedbn.federation.whole_families import (
    columns_differ,
    columns_of,
    own_families,
    whole_families,
    with_own_families,
)
from fedbn.graphs.dag import DAG
from fedbn.networks.conditional_gaussian import Network
from fedbn.networks.family_counts import FamilyTables, families_of
from fedbn.networks.fitting import parameters_of_sites, parameters_where_known
from fedbn.networks.mixed_parameters import (
    families_held_back,
    gaussian_parameters,
    mixed_parameters,
    spreads_of_moments,
    spreads_of_sums,
)
from fedbn.networks.mixed_sums import MixedFamilies, MixedSums, sums_of_moments
from fedbn.networks.moments import Moments
from fedbn.networks.parameter_sources import FittedParameters, ParameterSources, remarks_on
from fedbn.wire.arrays import ArrayFormat
from fedbn.wire.npy import Arrays
from server.counting import answers_to
from server.replies import Sites, arrays_in, record_of, task_record

LOG = logging.getLogger("fedbn.server.parameters")
"""A log of its own: a command that is told the sources says all of it itself."""

NOBODY = (
    "no site gave any (policies need counts = true, and of a table with imputed cells nothing is "
    "counted)"
)

Sums = TypeVar("Sums")
Fitted = tuple[Network | None, ParameterSources]


def fit_parameters(
    sites: Sites, result: FederationResult, run: Experiment
) -> FittedParameters | None:
    """The consensus with parameters, where the run wants any; without any, the reason is in the log
    and in the sources."""
    if run.rounds.parameters != "federated":
        return None
    ask = {"categorical": _tables, "gaussian": _equations, "mixed": _of_both_kinds}
    asked = sites.only({reply.client for reply in result.replies})
    try:
        found = ask[result.schema.kind](asked, result, run)
    except (DataError, NetworkError) as error:  # before a site was asked
        found = FittedParameters.without(str(error))
    tell(found.sources)
    return found


def tell(sources: ParameterSources) -> None:
    """Log whose rows the parameters are without, or why there are none."""
    for words in remarks_on(sources):
        LOG.warning("%s", words)


def _tables(sites: Sites, result: FederationResult, run: Experiment) -> FittedParameters:
    dag, columns = result.consensus.dag, columns_of(result)
    wanted = FamilyRequest(FamilyTables(result.schema, families_of([dag])), with_own=False)
    wanted.tables.require_written()
    answers, refused = answers_to(sites, wanted, result, run)
    sources = ParameterSources(
        tuple(sorted(answers)),
        tuple(sorted(refused.items())),
        _held_back(wanted, answers, columns),
    )
    counts = [answers[site].counts for site in sources.sites]

    def fit() -> Fitted:
        if run.consensus.variables == "same":
            return parameters_of_sites(dag, counts, run.parameter_ess), sources
        network, families = parameters_where_known(dag, counts, run.parameter_ess)
        asked = {site: own for site, own in columns.items() if site in sites.clients.values()}
        return network, sources.without(dag, families, asked)

    return _fit_if_answered(sources, fit)


def _fit_if_answered(sources: ParameterSources, fit: Callable[[], Fitted]) -> FittedParameters:
    """What `fit` makes of the answers, if there are some and they suffice."""
    if not sources.sites:
        return FittedParameters.without(NOBODY, sources)
    try:
        return FittedParameters.of_known(*fit())
    except (DataError, NetworkError) as error:
        return FittedParameters.without(str(error), sources)


def _held_back(
    wanted: FamilyRequest,
    answers: Mapping[str, FamilyAnswer],
    columns: Mapping[str, frozenset[int]],
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Variable -> the sites that answered without its family, though they have all of it, of those
    that have some."""
    found = []
    for family in wanted.tables.families:
        sites = [
            site
            for site in sorted(answers)
            if family not in answers[site].counts.tables.place
            and own_families([family], columns[site])
        ]
        if sites:
            found.append((wanted.tables.schema.names[family.node], tuple(sites)))
    return tuple(found)


def _of_both_kinds(sites: Sites, result: FederationResult, run: Experiment) -> FittedParameters:
    """Sums of families. Where sites have different columns, of numbers alone, too, those that have
    a family whole are asked for theirs."""
    consensus, schema, known = result.consensus.dag, result.schema, run.consensus.known
    dag, columns = dag_with_parameters(consensus, schema, known), columns_of(result)
    names = {site: tuple(schema.names[k] for k in sorted(own)) for site, own in columns.items()}
    sites = sites.only({site for site, own in names.items() if whole_families(dag, own)})
    wanted, form = MixedFamilies(dag, schema), CONDITIONALS
    if schema.kind == "gaussian":
        form = MOMENTS

    @cache
    def own_part(names: tuple[str, ...]) -> MixedFamilies:
        return MixedFamilies(with_own_families(dag, names), schema.restrict(names))

    def read(arrays: Arrays, client: str) -> MixedSums:
        own = own_part(names[client])
        if form is CONDITIONALS:
            sums = sums_from_arrays(arrays, own)
        else:
            sums = sums_of_moments(moments_from_arrays(arrays, own.dag, own.schema), own.dag)
        return under_agreed_places(sums, dag, names[client])

    answers, sources = _ask_about(dag, sites, result, run, form, read)
    if not columns_differ(result):
        sources = replace(
            sources.of_dag(dag, consensus, known),
            held_back=families_held_back(wanted, answers),
            spreads=spreads_of_sums(wanted, answers),
        )

    def fit() -> Fitted:
        ess = run.parameter_ess
        if not columns_differ(result):
            fitted = mixed_parameters(wanted, answers, ess)
            return fitted.network, replace(sources, shifts=fitted.shifts)
        network, found = parameters_of_own_sums(consensus, schema, answers, columns, known, ess)
        return network, replace(found, refused=sources.refused)

    return _fit_if_answered(sources, fit)


def _equations(sites: Sites, result: FederationResult, run: Experiment) -> FittedParameters:
    if columns_differ(result):
        return _of_both_kinds(sites, result, run)
    dag = result.consensus.dag

    def read(arrays: Arrays, _: str) -> Moments:
        return moments_from_arrays(arrays, dag, result.schema)

    moments, gave = _ask_about(dag, sites, result, run, MOMENTS, read)
    sources = replace(gave, spreads=spreads_of_moments(dag, moments))

    def fit() -> Fitted:
        network, shifts = gaussian_parameters(dag, moments)
        return network, replace(sources, shifts=shifts)

    return _fit_if_answered(sources, fit)


def _ask_about(
    dag: DAG,
    sites: Sites,
    result: FederationResult,
    run: Experiment,
    form: ArrayFormat,
    read: Callable[[Arrays, str], Sums],
) -> tuple[dict[str, Sums], ParameterSources]:
    """Site -> its checked sums of the families of a DAG, and who gave some and who none; `read` is
    told whose they are."""
    schema = result.schema
    asked = StructureMessage(schema.hash, schema.names, (dag,), (1.0,), "complete")
    record = record_of(to_arrays(asked))
    content = RecordDict({"task": task_record(schema, result.rounds), "consensus": record})
    found, refused = sites.ask_each(
        f"{MessageType.QUERY}.{form.name}",
        dict.fromkeys(sites.clients.values(), content),
        lambda reply, client: read(arrays_in(reply, form, run.limits), client),
    )
    return found, ParameterSources(tuple(sorted(found)), tuple(sorted(refused.items())))
