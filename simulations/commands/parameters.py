"""The command `fedbn parameters`: the parameters of a consensus after the fact."""

from __future__ import annotations

import functools
import operator
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fedbn.errors import ConfigError, FedbnWarning, ResultsError
from fedbn.whole_file import write_whole
from fedbn.wording import count_of, reason_of
from simulations.commands.answers import AVERAGE_FILE
from simulations.options import Json
from simulations.progress import stages

if TYPE_CHECKING:
    from fedbn.data.dataset import Dataset
    from fedbn.federation.checkpoint import Checkpoint
    from fedbn.federation.parameter_sources import ParameterSources
    from fedbn.networks.linear_gaussian import LinearGaussianNetwork
    from fedbn.networks.network import BayesianNetwork

__all__ = ["parameters"]


def parameters(
    results: Annotated[Path, typer.Argument(help="A results folder of a federated run.")],
    sites: Annotated[
        list[str], typer.Option(help="The sites' tables or site files: --sites a.csv b.csv.")
    ],
    parameter_ess: Annotated[
        float | None,
        typer.Option(show_default="as in the run", help="Equivalent sample size of the tables."),
    ] = None,
    average: Annotated[
        bool,
        typer.Option(
            "--average",
            help="Also write average.json: all structures of the sites, weighted by their "
            "posterior on all rows, for fedbn query --average.",
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Count in the sites' tables; write the network, its BIF and the report into the results.

    The columns are read as the run read them, under the agreed schema. All rows of these tables
    count: no policy holds back any of them, and therefore a site's file with a rule for small
    counts (disclosure) is refused.
    """
    from fedbn.federation.parameter_sources import remarks_on
    from simulations.terminal import print_json

    with stages(not as_json) as notify:
        notify("reading what the run kept")
        checkpoint = _read_kept(results)
        if parameter_ess is not None:
            from fedbn.federation.run_config import to_run_config

            experiment = checkpoint.experiment.change(parameter_ess=parameter_ess)
            checkpoint = replace(checkpoint, settings=to_run_config(experiment))
        notify("reading the sites' tables")
        tables: list[Dataset] = []
        for done, site in enumerate(sites, start=1):
            tables.append(_table(site, checkpoint))
            notify.count(done, len(sites))
        notify("counting")
        network, told = _fit(checkpoint, tables, sites)
        weighted = _weigh(checkpoint, tables) if average else []
        notify("writing network and report")
        _write(network, told, weighted, results, checkpoint)
    for line in remarks_on(told) if told is not None else ():
        warnings.warn(line, FedbnWarning, stacklevel=1)
    rows = sum(table.n_rows for table in tables)
    if as_json:
        print_json({"rows": rows, "parameters": network.n_parameters, "out": str(results)})
    else:
        print(
            f"{results}: {count_of(network.n_parameters, 'parameter')} from {count_of(rows, 'row')}"
        )


def _write(
    network: BayesianNetwork | LinearGaussianNetwork,
    told: ParameterSources | None,
    weighted: Sequence[tuple[BayesianNetwork, float]],
    results: Path,
    checkpoint: Checkpoint,
) -> None:
    """The network, the report with it, and AVERAGE_FILE and strengths if there are weights."""
    from fedbn.networks.json_file import weighted_to_json
    from fedbn.results.dictionary import write_readme
    from fedbn.results.page.files import CONTENT_FILE, refresh_parameters
    from fedbn.results.report import tell_sources, write_network
    from fedbn.results.strengths import write_posterior

    known = None if told is None else told.to_dict()
    try:
        write_network(network, results)
        tell_sources(results, known)
        if (results / CONTENT_FILE).exists():
            names = checkpoint.state.schema.names
            refresh_parameters(results, network, names, {"parameters": known})
        if weighted:
            networks, weights = zip(*weighted, strict=True)
            write_whole(results / AVERAGE_FILE, weighted_to_json(networks, weights))
            write_posterior(results, [(each.dag, weight) for each, weight in weighted])
        write_readme(results)
    except OSError as error:
        raise ResultsError(f"cannot write to {results}: {error.strerror or error}") from None


def _read_kept(folder: Path) -> Checkpoint:
    from fedbn.bounded_file import read_bounded
    from fedbn.federation.checkpoint import STATE_FILE, read_checkpoint

    file = folder / STATE_FILE
    try:
        checkpoint = read_checkpoint(read_bounded(file).decode("utf-8"), str(file))
    except (OSError, UnicodeDecodeError) as error:
        raise ResultsError(
            f"{folder} is no result of a federated run: {STATE_FILE}: {reason_of(error)}"
        ) from None
    if checkpoint.state.result is None:
        raise ResultsError(f"{file} has no consensus yet")
    return checkpoint


def _table(site: str, checkpoint: Checkpoint) -> Dataset:
    from fedbn.federation.agreement import own_part
    from fedbn.federation.site_table import site_table
    from simulations.sites.tables import open_site

    schema, settings = checkpoint.state.schema, checkpoint.experiment.tables
    path, decided = open_site(site)
    rule = decided.policy.disclosure
    if rule != "none":
        raise ConfigError(
            f"{site} has disclosure = {rule!r}, and this command counts all rows exactly: let a "
            "run count under it (--parameters federated)"
        )
    found = site_table(path, schema.kind, settings, decided, schema.cuts)
    if checkpoint.experiment.consensus.variables == "union":
        schema = own_part(schema, found.dataset.names)
    return found.dataset.with_schema(schema, site)


def _fit(
    checkpoint: Checkpoint, tables: list[Dataset], sites: Sequence[str]
) -> tuple[BayesianNetwork | LinearGaussianNetwork, ParameterSources | None]:
    """The parameters from sums over the tables, as in a run, and what is not known where tables
    have different columns."""
    if any(table.names != checkpoint.state.schema.names for table in tables):
        return _fit_where_known(checkpoint, dict(zip(sites, tables, strict=True)))
    return _fit_all(checkpoint, tables), None


def _fit_where_known(
    checkpoint: Checkpoint, tables: Mapping[str, Dataset]
) -> tuple[BayesianNetwork, ParameterSources]:
    """The parameters of the families that some table has all columns of, and who lacks what."""
    from fedbn.federation.parameter_sources import ParameterSources
    from fedbn.federation.runs import server_run
    from fedbn.federation.whole_families import own_families
    from fedbn.networks.family_counts import FamilyTables, count_own_families, families_of
    from fedbn.networks.fitting import parameters_where_known

    schema = checkpoint.state.schema
    if schema.kind != "categorical":
        raise ConfigError(
            "parameters of numbers are not estimated where tables have different columns"
        )
    assert checkpoint.state.result is not None
    dag = checkpoint.state.result.consensus.dag
    columns = {
        site: frozenset(schema.index(name) for name in table.names)
        for site, table in tables.items()
    }
    counts = []
    for site, table in tables.items():
        own = own_families(families_of([dag]), columns[site])
        if own:
            counts.append(count_own_families(table, FamilyTables(schema, own)))
    if not counts:
        raise ConfigError("no table has all columns of a family of the consensus")
    ess = server_run(checkpoint.experiment).parameter_ess
    network, lacking = parameters_where_known(dag, counts, ess)
    if network is None:
        raise ConfigError("every table of the network needs another one that is not known")
    return network, ParameterSources(tuple(sorted(tables))).without(dag, lacking, columns)


def _fit_all(
    checkpoint: Checkpoint, tables: list[Dataset]
) -> BayesianNetwork | LinearGaussianNetwork:
    """The parameters from sums over tables with all columns."""
    from fedbn.federation.runs import server_run
    from fedbn.networks.family_counts import count_families, families_of
    from fedbn.networks.fitting import parameters_of
    from fedbn.networks.moments import (
        family_pairs,
        linear_gaussian_of,
        moments_of,
        pooled_moments,
    )

    assert checkpoint.state.result is not None
    dag = checkpoint.state.result.consensus.dag
    if checkpoint.state.schema.kind == "categorical":
        counts = [count_families(table, families_of([dag])) for table in tables]
        total = functools.reduce(operator.add, counts)
        return parameters_of(dag, total, server_run(checkpoint.experiment).parameter_ess)
    pairs = family_pairs(dag)
    moments = {str(i): moments_of(table, pairs) for i, table in enumerate(tables)}
    return linear_gaussian_of(dag, pooled_moments(moments, pairs))


def _weigh(checkpoint: Checkpoint, tables: list[Dataset]) -> list[tuple[BayesianNetwork, float]]:
    """The sites' structures with parameters, weighted by summed counts."""
    from fedbn.choice.averaging import structures_of_classes, weights_of_structures
    from fedbn.federation.runs import server_run
    from fedbn.networks.family_counts import count_families, families_of
    from fedbn.networks.fitting import parameters_of

    result, run = checkpoint.state.result, server_run(checkpoint.experiment)
    assert result is not None
    if any(table.names != result.schema.names for table in tables):
        raise ConfigError("--average needs tables with all columns: its weights are compared")
    if result.schema.kind != "categorical":
        raise ConfigError("--average is for categorical columns: its weights are BDeu")
    sent = [dag for reply in result.fused_replies for dag in reply.dags]
    names = result.schema.names
    dags = structures_of_classes([dag.reorder(names) for dag in sent])
    families = families_of(dags)
    total = functools.reduce(operator.add, (count_families(each, families) for each in tables))
    weights = weights_of_structures(dags, total, run.learner.ess)
    pairs = [(dag, weight) for dag, weight in zip(dags, weights, strict=True) if weight > 0]
    return [(parameters_of(dag, total, run.parameter_ess), weight) for dag, weight in pairs]
