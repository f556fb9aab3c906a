"""The command `fedbn query`: what does the network say of X, given what was observed?"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fedbn.errors import ConfigError, DataError, QueryError, ResultsError
from fedbn.inference.elimination import MAX_CELLS
from fedbn.whole_file import write_whole
from simulations.options import Json

if TYPE_CHECKING:
    from fedbn.inference import Answer
    from fedbn.networks.network import BayesianNetwork

__all__ = ["query", "read_answering_network"]


def query(
    networks: Annotated[
        list[str],
        typer.Argument(
            help="A results folder, a .json or .bif file, or the name of a known network; several "
            "are averaged, see --weights."
        ),
    ],
    *,
    ask: Annotated[list[str] | None, typer.Option(help="Variables to ask for: --ask X Y.")] = None,
    given: Annotated[
        list[str] | None, typer.Option(help="What was observed: --given X=a Y=b.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Ask for every variable that is not observed.")
    ] = False,
    explain: Annotated[
        bool,
        typer.Option(
            "--most-probable", help="The most probable states of all the rest, jointly (MAP)."
        ),
    ] = False,
    given_file: Annotated[
        Path | None,
        typer.Option(help="A CSV file of cases, one a row; an empty cell is not observed."),
    ] = None,
    weights: Annotated[
        str | None,
        typer.Option(
            show_default="equal", help="Of several networks: one positive number each, 2,1,1."
        ),
    ] = None,
    max_cells: Annotated[
        int,
        typer.Option(min=1, help="Cells that the tables of one question may have together."),
    ] = MAX_CELLS,
    out: Annotated[
        Path | None,
        typer.Option(help="Write case, variable, state, probability to this CSV file."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Ask a network with parameters; the answers are exact.

    Prints the probability of every state of every variable asked for, given what was observed.
    Several networks are averaged by their weights times how probable each finds the evidence.
    """
    if explain == bool(everything or ask):
        raise ConfigError("say what to ask: --ask X Y, --all or --most-probable, one of them")
    if explain and (len(networks) > 1 or out is not None):
        raise ConfigError("--most-probable is for one network, and is printed, not written")
    read = [read_answering_network(source) for source in networks]
    observed = _parse_evidence(given or [])
    cases = [observed] if given_file is None else list(_cases(given_file, observed))
    if explain:
        _explain(read[0], cases, max_cells, as_json=as_json, many=given_file is not None)
        return
    shares = _weights(weights, len(read))
    answers = [_answer(read, shares, ask, case, i, max_cells) for i, case in enumerate(cases, 1)]
    if out is not None:
        _write(out, answers)
    if as_json or out is None:
        _print(answers, as_json=as_json, many=given_file is not None)


def read_answering_network(source: str) -> BayesianNetwork:
    """The network of a results folder, of a file, or of a name of the catalogue.

    Raises
    ------
    ResultsError : the folder has no parameters.
    NetworkError : there is no such network.
    QueryError : it is linear Gaussian.
    """
    from fedbn.networks.catalog import load_network
    from fedbn.networks.network import BayesianNetwork

    folder, path = Path(source), source
    if folder.is_dir():
        files = [folder / "network.json", folder / "consensus.bif"]
        found = [file for file in files if file.is_file()]
        if not found:
            raise ResultsError(
                f"{folder} has no network.json: its consensus has no parameters; run again with "
                "--parameters federated, or use fedbn parameters"
            )
        path = str(found[0])
    network = load_network(path)
    if not isinstance(network, BayesianNetwork):
        raise QueryError(f"{source} is linear Gaussian: questions are for categorical networks")
    return network


def _parse_evidence(given: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in given:
        name, equals, state = text.partition("=")
        if not (name and equals and state):
            raise ConfigError(f"--given must be variable=state, not {text!r}")
        if found.setdefault(name, state) != state:
            raise ConfigError(f"--given: {name!r} cannot be both {found[name]!r} and {state!r}")
    return found


def _cases(path: Path, observed: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """One dict per row, with what is observed in all of them."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read: {error}") from None
    rows = list(csv.reader(io.StringIO(text, newline="")))
    header = rows[0] if rows else []
    if len(set(header)) < len(header) or not all(header):
        raise DataError(f"{path}: the header must have distinct, non-empty names: {header}")
    for number, row in enumerate(rows[1:], start=1):
        if len(row) != len(header):
            raise DataError(f"{path}: row {number} has {len(row)} cells, not {len(header)}")
        case = {name: state for name, state in zip(header, row, strict=True) if state}
        for name in observed.keys() & case.keys():
            if observed[name] != case[name]:
                raise DataError(
                    f"{path}: row {number} has {name}={case[name]}, --given has "
                    f"{name}={observed[name]}"
                )
        yield {**observed, **case}


def _weights(text: str | None, count: int) -> list[float]:
    if text is None:
        return [1.0] * count
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise ConfigError(f"--weights must be numbers with commas: 2,1,1, not {text!r}") from None


def _answer(
    networks: Sequence[BayesianNetwork],
    weights: Sequence[float],
    ask: Sequence[str] | None,
    case: Mapping[str, str],
    number: int,
    max_cells: int,
) -> Answer:
    from fedbn.inference import average_query
    from fedbn.inference import query as answer

    try:
        if len(networks) == 1 and len(weights) == 1:
            return answer(networks[0], ask or None, case, max_cells=max_cells)
        return average_query(networks, weights, ask or None, case, max_cells=max_cells)
    except QueryError as error:
        raise type(error)(f"case {number}: {error}" if number > 1 else str(error)) from None


def _explain(
    network: BayesianNetwork,
    cases: Sequence[Mapping[str, str]],
    max_cells: int,
    *,
    as_json: bool,
    many: bool,
) -> None:
    import math

    from fedbn.inference import most_probable
    from simulations.terminal import print_json, print_table, rows_table

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


def _print(answers: Sequence[Answer], *, as_json: bool, many: bool) -> None:
    from simulations.terminal import print_json, print_table, rows_table

    if as_json:
        contents = [answer.posteriors for answer in answers]
        print_json({"cases": contents} if many else contents[0])
        return
    header = ("case", "variable", "state", "probability")
    rows = [row if many else row[1:] for row in _rows(answers)]
    print_table(rows_table(header if many else header[1:], rows))


def _rows(answers: Sequence[Answer]) -> list[tuple[str, ...]]:
    return [
        (str(number), name, state, f"{probability:.6f}")
        for number, answer in enumerate(answers, start=1)
        for name, states in answer.posteriors.items()
        for state, probability in states.items()
    ]


def _write(path: Path, answers: Sequence[Answer]) -> None:
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(("case", "variable", "state", "probability"))
    writer.writerows(_rows(answers))
    write_whole(path, buffer.getvalue())
