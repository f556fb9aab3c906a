"""The networks that `fedbn query` asks, and their answers as tables, JSON and CSV."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from fedbn.bounded_file import json_value, read_bounded
from fedbn.errors import FedbnWarning, QueryError, ResultsError
from fedbn.graphs.knowledge import Knowledge, is_text, read_knowledge
from fedbn.graphs.moral import ancestral_set
from fedbn.networks.conditional_gaussian import ConditionalGaussianNetwork
from fedbn.networks.json_file import read_text, weighted_from_json
from fedbn.networks.linear_gaussian import LinearGaussianNetwork
from fedbn.networks.network import BayesianNetwork
from fedbn.networks.parameter_sources import (
    added_words,
    against_words,
    cut_words,
    held_back_in,
    held_back_words,
    turned_words,
    unanswered_in,
)
from fedbn.results.groups import FOLDER, group_called
from fedbn.spreadsheet import written_text
from fedbn.whole_file import write_whole
from fedbn.wording import count_of, list_some, printable, reason_of

if TYPE_CHECKING:
    from fedbn.graphs.dag import DAG
    from fedbn.inference import Answer, ConditionalAnswer, GaussianAnswer
    from fedbn.networks.conditional_gaussian import Network

    SomeAnswer = Answer | GaussianAnswer | ConditionalAnswer
    Answers = Sequence[SomeAnswer]

AVERAGE_FILE = "average.json"
"""What a results folder calls its weighted networks."""


def read_network(source: str) -> Network:
    """The network of a results folder, of a file, or of a name of the catalogue.

    Raises
    ------
    ResultsError : the folder has no parameters.
    NetworkError : there is no such network.
    """
    from fedbn.networks.catalog import load_network

    folder, path = Path(source), source
    if folder.is_dir():
        files = [folder / "network.json", folder / "consensus.bif"]
        found = [file for file in files if file.is_file()]
        if not found and not (folder / "run.json").is_file():
            raise ResultsError(f"{folder} is no results folder: it has no run.json")
        if not found:
            raise ResultsError(
                f"{folder} has no network.json: its consensus has no parameters{_failure(folder)}; "
                "run again with --parameters federated, or use fedbn parameters"
            )
        path = str(found[0])
    return load_network(path)


def read_group(source: str, group: str) -> Network:
    """The network of one group of sites of a results folder; `group` is its number or its name.

    Raises
    ------
    ResultsError : it is no results folder, it has no such group, or that group no parameters.
    """
    from fedbn.networks.catalog import load_network

    folder = Path(source)
    if not (folder / "run.json").is_file():
        raise ResultsError(f"--group is for a results folder: {source} has no run.json")
    run = _run_of(folder)
    number = group_called(run, group, source)
    file = folder / FOLDER / f"network-{number}.json"
    if not file.is_file():
        why = _why(_told_of_group(run, number))
        raise ResultsError(
            f"{source} has no parameters of group {number}: {why}; policies of sites limit which "
            "counts leave"
            if why
            else f"{source} has no parameters of group {number}: run again with --parameters "
            "federated; sites whose policies let no counts leave cannot give any"
        )
    return load_network(str(file))


def read_at_site(source: str, site: str) -> Network:
    """The network of a results folder with one site's own constants.

    Raises
    ------
    ResultsError : it is no results folder, or it has no constants of that site.
    """
    network = read_network(source)
    told = _run_of(Path(source)).get("parameters")
    shifts = told.get("shifts") if isinstance(told, Mapping) else None
    if isinstance(network, BayesianNetwork) or not shifts:
        raise ResultsError(
            f"--site: {source} has one network for all sites; none has constants of its own"
        )
    own = {name: sites[site] for name, sites in shifts.items() if site in sites}
    if not own:
        known = sorted({each for sites in shifts.values() for each in sites})
        if not known:
            raise ResultsError(
                f"--site: {source} has constants that its sites alone know: they were summed under "
                "masks"
            )
        raise ResultsError(
            f"--site: {source} has no constants of {site!r}; it has those of {list_some(known, 10)}"
        )
    return network.with_shifts(own)


def say_differences(source: str, *, sets: bool, group: str | None = None) -> None:
    """Say how a results folder's network is another one than its consensus: which numbers are
    intervals only, and, where the question `sets` variables, which arrows are turned.

    Raises
    ------
    QueryError : variables are set in a network that is none of the consensus' class, or breaks the
        knowledge that the consensus keeps.
    """
    if not Path(source).is_dir():
        return
    told = _parameters_told(source, group).get("parameters")
    if not isinstance(told, Mapping):
        return
    if told.get("cut"):
        typer.echo(printable(cut_words(told["cut"])), err=True)
    if sets and told.get("added"):
        words = printable(added_words(told["added"], told.get("turned") or ()))
        raise QueryError(
            f"{words}; fedbn parameters {source} --sites ... --cuts keeps the arrows of the "
            "consensus, by intervals of these numbers"
        )
    if sets and told.get("against"):
        raise QueryError(printable(against_words(told["against"])))
    if sets and told.get("turned"):
        typer.echo(printable(turned_words(told["turned"])), err=True)


def _failure(folder: Path) -> str:
    """Why a run ended without parameters, in brackets, if its run.json says so."""
    why = _why(_run_of(folder).get("parameters"))
    return f" ({why})" if why else ""


def _why(told: object) -> str:
    """Why there are no parameters, by what run.json tells of them; empty where it does not."""
    why = told.get("failure") if isinstance(told, Mapping) else None
    return printable(why) if isinstance(why, str) else ""


def _told_of_group(run: Mapping[str, Any], number: int) -> object:
    """What run.json tells of a group's parameters; None where it tells nothing."""
    told = run["groups"].get("parameters")
    return told[number - 1] if isinstance(told, list) and number <= len(told) else None


def _run_of(folder: Path) -> Mapping[str, Any]:
    """What run.json says; nothing where there is none."""
    file = folder / "run.json"
    try:
        content = json_value(read_bounded(file)) if file.is_file() else {}
    except (OSError, ValueError) as error:
        raise ResultsError(f"{file} cannot be read: {reason_of(error)}") from None
    return content if isinstance(content, Mapping) else {}


def knowledge_kept(source: str) -> Knowledge | None:
    """What a results folder's consensus keeps, by its run.json; None for nothing, or no folder.

    Raises
    ------
    ConfigError : run.json says it in another form.
    """
    settings = _run_of(Path(source)).get("settings")
    told = settings.get("knowledge") if isinstance(settings, Mapping) else None
    return read_knowledge(told) if isinstance(told, str) and is_text(told) else None


def warn_of_held_back(
    source: str,
    network: Network,
    ask: Sequence[str] | None,
    cases: Sequence[Mapping[str, str]],
    group: str | None = None,
) -> None:
    """Warn where an answer depends on tables that are without the rows of some sites; of a group
    of sites, of its own.

    An answer depends on what is asked for, what is observed, and the ancestors of both.

    Raises
    ------
    ResultsError : `source` is a folder whose run.json says what is held back in another form.
    """
    names = network.dag.names
    wanted = {*(ask or names), *(name for case in cases for name in case)}
    for words in held_back_words(held_back_among(source, network.dag, wanted, group)):
        warnings.warn(f"{words}; the answer depends on that", FedbnWarning, stacklevel=2)


def held_back_among(
    source: str, dag: DAG, wanted: Iterable[str], group: str | None = None
) -> dict[str, Sequence[str]]:
    """Variables whose tables these depend on and are without rows -> the sites of these rows.

    Raises
    ------
    ResultsError : as `warn_of_held_back`.
    """
    found = held_back_in(_parameters_told(source, group), str(Path(source) / "run.json"))
    if not found:
        return {}
    names = set(wanted)
    needed = ancestral_set(dag, [i for i, name in enumerate(dag.names) if name in names])
    return {name: found[name] for i, name in enumerate(dag.names) if needed[i] and name in found}


def require_answers(
    source: str, network: Network, wanted: Iterable[str], group: str | None = None
) -> None:
    """Raise QueryError where a question is about a variable whose table, or that of an ancestor, no
    site could give; its family and who lacks what is named.

    Raises
    ------
    ResultsError : `source` is a folder whose run.json says what is not known in another form.
    """
    known = set(network.dag.names)
    why = why_unanswered(source, group)
    for name in dict.fromkeys(wanted):
        if name not in known and name in why:
            raise QueryError(f"{name!r} has no answer: {why[name]}")


def warn_of_unanswered(source: str, group: str | None = None) -> None:
    """Warn of the variables that a question about all of them leaves out."""
    for name, words in why_unanswered(source, group).items():
        warnings.warn(f"{printable(name)!r} is left out: {words}", FedbnWarning, stacklevel=2)


def why_unanswered(source: str, group: str | None = None) -> dict[str, str]:
    """Variable -> why no question about it has an answer; raises ResultsError as above."""
    return unanswered_in(_parameters_told(source, group), str(Path(source) / "run.json"))


def _parameters_told(source: str, group: str | None) -> Mapping[str, Any]:
    """What run.json says of the parameters, of one group where it is asked for."""
    folder = Path(source)
    run = _run_of(folder) if folder.is_dir() else {}
    if group is None:
        return run
    told, number = run["groups"].get("parameters"), group_called(run, group, source)
    return {"parameters": told[number - 1] if told else None}


def say_intervals(network: Network, cases: Sequence[Mapping[str, str]]) -> None:
    """Say which intervals stand for the numbers that were given: all of a variable in one line."""
    from fedbn.inference.queries import interval_meant

    if not isinstance(network, BayesianNetwork):
        return
    taken: dict[str, list[str]] = {}
    for name, text in dict.fromkeys(item for case in cases for item in case.items()):
        interval = interval_meant(network, name, text)
        if interval is not None:
            taken.setdefault(name, []).append(f"{printable(text)} as {interval!r}")
    for name, words in taken.items():
        typer.echo(f"{printable(name)} was cut: {list_some(words, 5, quoted=False)}", err=True)


def read_weighted(source: str) -> tuple[list[Network], list[float]]:
    """The weighted networks of a results folder; raises ResultsError where it has none."""
    file = Path(source) / AVERAGE_FILE
    if not file.is_file():
        raise ResultsError(
            f"{source} has no {AVERAGE_FILE}: run fedbn parameters {source} --sites ... --average"
        )
    return weighted_from_json(read_text(file), str(file))


def answers_to(
    networks: Sequence[Network],
    weights: Sequence[float],
    ask: Sequence[str] | None,
    cases: Sequence[Mapping[str, str]],
    max_cells: int,
) -> list[SomeAnswer]:
    """One answer per case; raises QueryError with the case's number."""
    return [
        _answer(networks, weights, ask, case, number, max_cells)
        for number, case in enumerate(cases, start=1)
    ]


def _answer(
    networks: Sequence[Network],
    weights: Sequence[float],
    ask: Sequence[str] | None,
    case: Mapping[str, str],
    number: int,
    max_cells: int,
) -> SomeAnswer:
    from fedbn.inference import average_gaussian, average_query, query_conditional

    tables = [each for each in networks if isinstance(each, BayesianNetwork)]
    equations = [each for each in networks if isinstance(each, LinearGaussianNetwork)]
    try:
        if len(networks) == 1 and isinstance(networks[0], ConditionalGaussianNetwork):
            return query_conditional(networks[0], ask or None, case, max_cells=max_cells)
        if len(tables) == len(networks):
            return average_query(tables, weights, ask or None, case, max_cells=max_cells)
        if len(equations) == len(networks):
            numbers = {name: _number(name, text) for name, text in case.items()}
            return average_gaussian(equations, weights, ask or None, numbers, max_cells=max_cells)
    except QueryError as error:
        raise type(error)(f"case {number}: {error}" if number > 1 else str(error)) from None
    raise QueryError("networks must all be categorical or all linear Gaussian to be averaged")


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise QueryError(f"{name!r} is a number in this network, not {text!r}") from None


def print_most_probable(
    network: Network,
    cases: Sequence[Mapping[str, str]],
    max_cells: int,
    *,
    as_json: bool,
    many: bool,
) -> None:
    """Print the most probable states of every case; raises QueryError."""
    from fedbn.inference import most_probable
    from simulations.terminal import print_json, print_table, rows_table

    if not isinstance(network, BayesianNetwork):
        raise QueryError(
            "--most-probable needs a network of categories alone; for one with numbers use --all, "
            "which gives means"
        )
    found = [most_probable(network, case, max_cells=max_cells) for case in cases]
    if as_json:
        content = [
            {"states": each.states, "probability": math.exp(each.log_probability)} for each in found
        ]
        print_json({"cases": content} if many else content[0])
        return
    for number, each in enumerate(found, start=1):
        title = f"{'case ' + str(number) + ': ' if many else ''}probability "
        title += f"{math.exp(each.log_probability):.6g}"
        print_table(rows_table(("variable", "state"), list(each.states.items()), title))


def print_answers(
    answers: Answers, *, as_json: bool, many: bool, alone: Answers | None = None
) -> None:
    """Print all answers as a table, those of the consensus alone beside them, or as JSON."""
    from simulations.terminal import print_json, print_table, rows_table

    if as_json:
        contents = [answer.posteriors for answer in answers]
        print_json({"cases": contents} if many else contents[0])
        return
    lines = [_header(answers), *_rows(answers)]
    if alone is not None:
        beside = ["consensus alone", *(row[-1] for row in _rows(alone))]
        lines = [(*line, cell) for line, cell in zip(lines, beside, strict=True)]
    header, *rows = lines if many else [line[1:] for line in lines]
    print_table(rows_table(header, rows))


def print_difference(answers: Answers, single: Answers, networks: int) -> None:
    """Print how far the average is from the consensus alone."""
    largest, name, key = max(
        (abs(number - alone.posteriors[name][key]), name, key)
        for answer, alone in zip(answers, single, strict=True)
        for name, numbers in answer.posteriors.items()
        for key, number in numbers.items()
    )
    print(
        f"Average of {count_of(networks, 'structure')}; the consensus alone differs by at "
        f"most {largest:.6f} "
        f"({name}: {key})."
    )


def write_answers(path: Path, answers: Answers) -> None:
    """Write all answers as CSV."""
    write_whole(path, written_text([_header(answers), *_rows(answers)]))


def _header(answers: Answers) -> tuple[str, ...]:
    from fedbn.inference import Answer

    if all(isinstance(answer, Answer) for answer in answers):
        return ("case", "variable", "state", "probability")
    return ("case", "variable", "quantity", "value")


def _rows(answers: Answers) -> list[tuple[str, ...]]:
    from fedbn.inference import Answer

    return [
        (str(number), name, key, f"{value:.6f}" if isinstance(answer, Answer) else f"{value:.9g}")
        for number, answer in enumerate(answers, start=1)
        for name, numbers in answer.posteriors.items()
        for key, value in numbers.items()
    ]
