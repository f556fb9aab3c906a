"""`fedbn compare`: how far one structure is from another, and which of them fits rows better."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fedbn.bounded_file import json_value, read_bounded
from fedbn.data.schema import union_schema
from fedbn.data.tables import read_dataset
from fedbn.errors import ConfigError
from fedbn.graphs.distances import precision_recall_f1, shd, smhd
from simulations.commands.answers import read_network
from simulations.options import Json, NetworkDir

if TYPE_CHECKING:
    from fedbn.graphs.dag import DAG
    from fedbn.networks.conditional_gaussian import Network
    from fedbn.networks.network import BayesianNetwork

WORDS = {
    "smhd": "SMHD: pairs joined in only one of the moral graphs",
    "shd": "SHD: pairs joined differently in the classes",
    "precision": "precision: share of its edges that are right",
    "recall": "recall: share of right edges that it has",
    "f1": "F1 of precision and recall",
    "orientation_precision": "share of its determined directions that are right",
    "orientation_recall": "share of right directions that it determines",
    "sid": "SID: effects that are wrong if every arrow is a cause",
    "parent_aid": "effects that the class gets wrong, adjusted for parents",
    "ancestor_aid": "the same, for ancestors",
    "oset_aid": "the same, for the optimal set",
    "log_likelihood": "mean log-likelihood of a test row",
    "log_likelihood_of_second": "the same, by the second structure",
}


def compare(
    structure: Annotated[
        str, typer.Argument(help="A DAG file, a results folder, or a network's name.")
    ],
    truth: Annotated[str, typer.Argument(help="The structure to compare with, in the same forms.")],
    nodes: Annotated[
        str | None, typer.Option(help="The variables of edge lists: a,b,c or a file with names.")
    ] = None,
    test_rows: Annotated[
        Path | None,
        typer.Option(help="A table that nobody learned from: the log-likelihood of its rows."),
    ] = None,
    fit: Annotated[
        Path | None,
        typer.Option(
            help="With --test-rows, for structures without parameters: the table to which "
            "they are fitted."
        ),
    ] = None,
    network_dir: NetworkDir = None,
    as_json: Json = False,
) -> None:
    """Compare a structure with another one: distances, directions, effects and likelihood.

    SMHD compares moral graphs; SHD, precision, recall and F1 compare equivalence classes; the
    measures of directions compare those that the classes determine. SID counts the ordered pairs of
    variables whose effect is wrong if every arrow of the first structure is taken as causal; the
    adjustment distances count such pairs for the classes. With --test-rows, the parameters are
    those of a network or results folder, or are fitted with --fit.
    """
    from fedbn.graphs.files import read_nodes
    from simulations.inputs import one_structure
    from simulations.terminal import print_json, print_table, rows_table

    if fit is not None and test_rows is None:
        raise ConfigError("--fit goes with --test-rows")
    names = None if nodes is None else read_nodes(nodes)
    sources = (structure, truth)
    ours, theirs = (one_structure(s, nodes=names, network_dir=network_dir) for s in sources)
    content = _rulers(ours, theirs)
    if test_rows is not None:
        pairs = zip(sources, (ours, theirs), strict=True)
        fits = [_log_likelihood(s, d, test_rows, fit, network_dir) for s, d in pairs]
        content |= {"log_likelihood": fits[0], "log_likelihood_of_second": fits[1]}
    if as_json:
        print_json(content)
    else:
        told = [(WORDS[key], _value_text(value)) for key, value in content.items()]
        print_table(rows_table(("measure", "value"), told))


def _value_text(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.4f}"


def _rulers(ours: DAG, theirs: DAG) -> dict[str, Any]:
    """Everything that two structures alone say."""
    from fedbn.graphs.adjustment import adjustment_distances, orientations, sid

    accuracy, directions = precision_recall_f1(ours, theirs), orientations(ours, theirs)
    return {
        "smhd": smhd(ours, theirs),
        "shd": shd(ours, theirs),
        **accuracy._asdict(),
        "orientation_precision": directions.precision,
        "orientation_recall": directions.recall,
        "sid": sid(ours, theirs),
        **adjustment_distances(ours, theirs)._asdict(),
    }


def _log_likelihood(
    source: str, dag: DAG, test_rows: Path, fit: Path | None, network_dir: Path | None
) -> float:
    """Of the rows, under the network that the source is, or under its structure fitted."""
    from fedbn.networks.likelihood import log_likelihood

    network = _network(source, network_dir)
    if network is None:
        if fit is None:
            words = f"{source} has no parameters: use --fit TABLE with rows to fit them to"
            raise ConfigError(words)
        network = _fitted_network(dag, fit, test_rows)
    rows = read_dataset(test_rows, network.schema.kind)
    in_states = rows.with_schema(network.schema, str(test_rows))
    return log_likelihood(network, in_states, str(test_rows))


def _network(source: str, network_dir: Path | None) -> Network | None:
    """The network with parameters that an argument names; None where it is a structure alone."""
    from fedbn.networks.catalog import load_network

    path = Path(source)
    if (path / "run.json").is_file():
        return read_network(source)
    if path.is_file() and path.suffix == ".json" and "edges" in json_value(read_bounded(path)):
        return None
    if path.is_file() and path.suffix not in (".json", ".bif"):
        return None
    return load_network(source, network_dir)


def _fitted_network(dag: DAG, fit: Path, test_rows: Path) -> BayesianNetwork:
    """The structure with tables from the rows of `fit`, for the states of both files."""
    from fedbn.networks.fitting import fit_parameters

    tables = {str(file): read_dataset(file, "categorical") for file in (fit, test_rows)}
    schema = union_schema({file: table.schema for file, table in tables.items()})
    return fit_parameters(dag, tables[str(fit)].with_schema(schema, str(fit)))
