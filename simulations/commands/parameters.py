"""The command `fedbn parameters`: the parameters of a consensus after the fact."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fedbn.errors import ConfigError, ResultsError
from fedbn.whole_file import write_whole
from fedbn.wording import count_of, reason_of
from simulations.commands.answers import AVERAGE_FILE
from simulations.options import Json
from simulations.progress import stages

if TYPE_CHECKING:
    from fedbn.data.dataset import Dataset
    from fedbn.federation.checkpoint import Checkpoint
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
        network = _fit(checkpoint, tables)
        weighted = _weigh(checkpoint, tables) if average else []
        notify("writing network and report")
        _write(network, weighted, results)
    rows = sum(table.n_rows for table in tables)
    if as_json:
        print_json({"rows": rows, "parameters": network.n_parameters, "out": str(results)})
    else:
        print(
            f"{results}: {count_of(network.n_parameters, 'parameter')} from {count_of(rows, 'row')}"
        )


def _write(
    network: BayesianNetwork | LinearGaussianNetwork,
    weighted: Sequence[tuple[BayesianNetwork, float]],
    results: Path,
) -> None:
    """The network, the report with it, and AVERAGE_FILE and strengths if there are weights."""
    from fedbn.networks.json_file import weighted_to_json
    from fedbn.results.dictionary import write_readme
    from fedbn.results.page.files import CONTENT_FILE, refresh_parameters
    from fedbn.results.report import forget_held_back, write_network
    from fedbn.results.strengths import write_posterior

    try:
        write_network(network, results)
        forget_held_back(results)
        if (results / CONTENT_FILE).exists():
            refresh_parameters(results, network)
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
    return found.dataset.with_schema(schema, site)


def _fit(checkpoint: Checkpoint, tables: list[Dataset]) -> BayesianNetwork | LinearGaussianNetwork:
    """The parameters from sums over the tables, as in a run."""
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
