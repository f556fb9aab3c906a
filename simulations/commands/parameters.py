"""The command `fedbn parameters`: the parameters of a consensus after the fact."""

from __future__ import annotations

import functools
import operator
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fedbn.data.cuts import Cuts, parse_cuts
from fedbn.data.schema import Kind, Schema, Variable
from fedbn.errors import ConfigError, FedbnWarning, ResultsError, system_errors_as
from fedbn.networks.family_counts import (
    FamilyTables,
    count_families,
    count_own_families,
    families_of,
)
from fedbn.networks.json_file import weighted_to_json
from fedbn.networks.parameter_sources import ParameterSources, remarks_on
from fedbn.whole_file import write_whole
from fedbn.wording import count_of, list_some
from simulations.commands.answers import AVERAGE_FILE
from simulations.options import Json
from simulations.progress import stages

if TYPE_CHECKING:
    from fedbn.data.dataset import Dataset
    from fedbn.data.table_settings import TableSettings
    from fedbn.federation.checkpoint import Checkpoint
    from fedbn.networks.conditional_gaussian import Network
    from fedbn.networks.network import BayesianNetwork


def parameters(
    results: Annotated[Path, typer.Argument(help="A results folder of a federated run.")],
    sites: Annotated[
        list[str], typer.Option(help="The sites' tables or site files: --sites a.csv b.csv.")
    ],
    parameter_ess: Annotated[
        float | None,
        typer.Option(show_default="as in the run", help="Equivalent sample size of the tables."),
    ] = None,
    cuts: Annotated[
        list[str] | None,
        typer.Option(
            help="Cut points of a column that was a number when the structure was learned, and "
            "that becomes intervals now: --cuts age=40,60. Then all arrows of the "
            "structure can be kept, also those from this number to a category. May be repeated."
        ),
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
    """Estimate a consensus' parameters from the sites' tables; write network, BIF file and report.

    The columns are read as the run read them, under the agreed schema, except for those of --cuts,
    which become intervals. All rows of these tables are used, because no policy applies here.
    Therefore a site's file with a rule for small counts (disclosure) is refused.
    """
    from simulations.terminal import print_json

    with stages(not as_json) as notify:
        notify("reading what the run kept")
        checkpoint = _read_kept(results)
        if parameter_ess is not None:
            from fedbn.federation.run_config import to_run_config

            experiment = checkpoint.experiment.change(parameter_ess=parameter_ess)
            checkpoint = replace(checkpoint, settings=to_run_config(experiment))
        reading = _Reading.of(checkpoint, cuts or [])
        notify("reading the sites' tables")
        tables: dict[str, Dataset] = {}
        for done, site in enumerate(sites, start=1):
            tables[site] = reading.table(site)
            notify.count(done, len(sites))
        notify("counting")
        network, sources = _fit(checkpoint, reading, tables)
        weighted = _weigh(checkpoint, reading, list(tables.values())) if average else []
        notify("writing network and report")
        _write(network, sources, weighted, results, checkpoint)
    for line in remarks_on(sources):
        warnings.warn(line, FedbnWarning, stacklevel=1)
    rows = sum(table.n_rows for table in tables.values())
    if as_json:
        print_json({"rows": rows, "parameters": network.n_parameters, "out": str(results)})
    else:
        print(
            f"{results}: {count_of(network.n_parameters, 'parameter')} from {count_of(rows, 'row')}"
        )


def _write(
    network: Network,
    sources: ParameterSources,
    weighted: Sequence[tuple[BayesianNetwork, float]],
    results: Path,
    checkpoint: Checkpoint,
) -> None:
    """The network, the report with it, and AVERAGE_FILE and strengths if there are weights."""
    from fedbn.results.dictionary import write_readme
    from fedbn.results.page.files import CONTENT_FILE, refresh_parameters
    from fedbn.results.report import tell_sources, write_network
    from fedbn.results.strengths import write_posterior

    known = None if sources == ParameterSources() else sources.to_dict()
    with system_errors_as(ResultsError, f"cannot write to {results}"):
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


def _read_kept(folder: Path) -> Checkpoint:
    from fedbn.federation.checkpoint import STATE_FILE
    from simulations.commands.kept_run import read_kept

    checkpoint = read_kept(folder)
    if checkpoint.state.result is None:
        raise ResultsError(f"{folder / STATE_FILE} has no consensus yet")
    return checkpoint


@dataclass(frozen=True)
class _Reading:
    """How tables are read: as the run read them, but for numbers that are cut now.

    `schema` is the agreed one, with the intervals of the `cuts`.
    """

    schema: Schema
    settings: TableSettings
    cuts: Mapping[str, Cuts]
    own_columns: bool

    @classmethod
    def of(cls, checkpoint: Checkpoint, options: Sequence[str]) -> _Reading:
        schema, settings = checkpoint.state.schema, checkpoint.experiment.tables
        cuts = parse_cuts(options)
        for name in cuts:
            if name not in schema.numbers:
                raise ConfigError(
                    f"--cuts: the run has no column of numbers {name!r}; it has "
                    f"{list_some(schema.numbers, 10)}"
                )
        variables = [
            Variable.cut(each.name, cuts[each.name]) if each.name in cuts else each
            for each in schema.variables
        ]
        numbers = tuple(name for name in settings.preparation().numbers if name not in cuts)
        own_columns = checkpoint.experiment.consensus.variables == "union"
        return cls(Schema(tuple(variables)), replace(settings, numbers=numbers), cuts, own_columns)

    def table(self, site: str) -> Dataset:
        """The rows of a site's table or file."""
        from fedbn.federation.agreement import own_part
        from fedbn.federation.site_table import site_table
        from simulations.sites.divided_table import of_own_columns
        from simulations.sites.tables import open_site

        path, decided = open_site(site)
        rule = decided.policy.disclosure
        if rule != "none":
            raise ConfigError(
                f"{site} has disclosure = {rule!r}, and this command counts all rows exactly: let "
                "a run count under it (--parameters federated)"
            )
        schema, settings = self.schema, self.settings
        kind: Kind = schema.kind
        cuts: Mapping[str, Cuts] = schema.cuts
        if self.own_columns:
            kind, settings, cuts = of_own_columns(kind, settings, path, decided, cuts)
        found = site_table(path, kind, settings, decided, cuts)
        if self.own_columns:
            schema = own_part(schema, found.dataset.names)
        return found.dataset.with_schema(schema, site)


def _fit(
    checkpoint: Checkpoint, reading: _Reading, tables: Mapping[str, Dataset]
) -> tuple[Network, ParameterSources]:
    """The parameters from sums over the tables, as in a run, and what there is to say of them."""
    if any(table.names != reading.schema.names for table in tables.values()):
        return _fit_where_known(checkpoint, reading, tables)
    return _fit_all(checkpoint, reading, tables)


def _fit_where_known(
    checkpoint: Checkpoint, reading: _Reading, tables: Mapping[str, Dataset]
) -> tuple[Network, ParameterSources]:
    """The parameters of the families that some table has all columns of, and who lacks what."""
    from fedbn.federation.known_parameters import (
        dag_with_parameters,
        parameters_of_own_sums,
        sums_of_table,
    )
    from fedbn.federation.whole_families import own_families
    from fedbn.networks.fitting import parameters_where_known

    schema, run = reading.schema, checkpoint.experiment
    dag, known = checkpoint.state.fused.consensus.dag, run.consensus.known
    columns = {
        site: frozenset(schema.index(name) for name in table.names)
        for site, table in tables.items()
    }
    fitted = dag if schema.kind == "categorical" else dag_with_parameters(dag, schema, known)
    families = {site: own_families(families_of([fitted]), own) for site, own in columns.items()}
    asked = {site: table for site, table in tables.items() if families[site]}
    if not asked:
        raise ConfigError("no table has all columns of a family of the consensus")
    network: Network | None
    if schema.kind == "categorical":
        counts = [
            count_own_families(table, FamilyTables(schema, families[site]))
            for site, table in asked.items()
        ]
        network, lacking = parameters_where_known(dag, counts, run.parameter_ess)
        sources = ParameterSources(tuple(sorted(tables))).without(dag, lacking, columns)
    else:
        sums = {site: sums_of_table(table, fitted, schema.kind) for site, table in asked.items()}
        network, sources = parameters_of_own_sums(
            dag, schema, sums, columns, known, run.parameter_ess
        )
    if network is None:
        raise ConfigError("every table of the network needs another one that is not known")
    return network, replace(sources, cut=_cut_now(reading))


def _cut_now(reading: _Reading) -> tuple[tuple[str, tuple[float, ...]], ...]:
    """The numbers that are intervals now, and their cut points."""
    return tuple((name, tuple(points)) for name, points in sorted(reading.cuts.items()))


def _fit_all(
    checkpoint: Checkpoint, reading: _Reading, tables: Mapping[str, Dataset]
) -> tuple[Network, ParameterSources]:
    """The parameters from sums over tables with all columns."""
    from fedbn.fusion.numbers_last import with_numbers_last
    from fedbn.networks.fitting import parameters_of
    from fedbn.networks.mixed_parameters import (
        gaussian_parameters,
        mixed_parameters,
        spreads_of_moments,
        spreads_of_sums,
    )
    from fedbn.networks.mixed_sums import MixedFamilies, mixed_sums
    from fedbn.networks.moments import family_pairs, moments_of

    dag, schema = checkpoint.state.fused.consensus.dag, reading.schema
    run = checkpoint.experiment
    ess, known = run.parameter_ess, run.consensus.known
    cut = _cut_now(reading)
    if schema.kind == "categorical":
        counts = [count_families(table, families_of([dag])) for table in tables.values()]
        return (
            parameters_of(dag, functools.reduce(operator.add, counts), ess),
            ParameterSources(cut=cut),
        )
    if schema.kind == "gaussian":
        pairs = family_pairs(dag)
        moments = {site: moments_of(table, pairs) for site, table in tables.items()}
        network, shifts = gaussian_parameters(dag, moments)
        spreads = spreads_of_moments(dag, moments)
        return network, ParameterSources(shifts=shifts, spreads=spreads)
    member = with_numbers_last(dag, schema, known)
    wanted = MixedFamilies(member, schema)
    sums = {site: mixed_sums(table, wanted) for site, table in tables.items()}
    fitted = mixed_parameters(wanted, sums, ess)
    sources = ParameterSources(shifts=fitted.shifts, spreads=spreads_of_sums(wanted, sums), cut=cut)
    return fitted.network, sources.of_dag(member, dag, known)


def _weigh(
    checkpoint: Checkpoint, reading: _Reading, tables: list[Dataset]
) -> list[tuple[BayesianNetwork, float]]:
    """The sites' structures with parameters, weighted by summed counts."""
    from fedbn.choice.averaging import structures_of_classes, weights_of_structures
    from fedbn.networks.fitting import parameters_of

    result, run = checkpoint.state.fused, checkpoint.experiment
    if any(table.names != result.schema.names for table in tables):
        raise ConfigError("--average needs tables with all columns: its weights are compared")
    if reading.schema.kind != "categorical":
        raise ConfigError("--average is for categorical columns: its weights are BDeu")
    sent = [dag for reply in result.fused_replies for dag in reply.dags]
    names = result.schema.names
    dags = structures_of_classes([dag.reorder(names) for dag in sent])
    families = families_of(dags)
    total = functools.reduce(operator.add, (count_families(each, families) for each in tables))
    weights = weights_of_structures(dags, total, run.learner.ess)
    pairs = [(dag, weight) for dag, weight in zip(dags, weights, strict=True) if weight > 0]
    return [(parameters_of(dag, total, run.parameter_ess), weight) for dag, weight in pairs]
