"""The command `fedbn query`: what does the network say of X, given what was observed?"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from fedbn.bounded_file import read_bounded
from fedbn.errors import ConfigError, DataError, did_you_mean
from fedbn.inference.elimination import MAX_CELLS
from fedbn.whole_file import require_writable
from fedbn.wording import count_of, reason_of
from simulations.commands.answers import (
    answers_to,
    knowledge_kept,
    print_answers,
    print_difference,
    print_most_probable,
    read_at_site,
    read_group,
    read_network,
    read_weighted,
    require_answers,
    say_differences,
    say_intervals,
    warn_of_held_back,
    warn_of_unanswered,
    write_answers,
)
from simulations.commands.interventions import Intervention, answer_intervention
from simulations.options import Json


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
        list[str] | None,
        typer.Option(
            help="What was observed: --given X=a Y=b. For a column that was cut you may give a "
            "number instead."
        ),
    ] = None,
    do: Annotated[
        list[str] | None,
        typer.Option(
            help="What is set, not observed: --do X=a. What --given names is observed after that."
        ),
    ] = None,
    versus: Annotated[
        list[str] | None,
        typer.Option(
            help="With --do: other values of the same variables, to compare with: --versus X=b. "
            "Prints differences; for numbers these are average effects."
        ),
    ] = None,
    over_class: Annotated[
        bool,
        typer.Option(
            "--class",
            help="With --do: also the range over all networks of the equivalence class.",
        ),
    ] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="Ask for every variable that is not observed.")
    ] = False,
    explain: Annotated[
        bool,
        typer.Option(
            "--most-probable", help="The most probable joint states of all other variables (MAP)."
        ),
    ] = False,
    given_file: Annotated[
        Path | None,
        typer.Option(help="A CSV file of cases, one a row; an empty cell is not observed."),
    ] = None,
    weights: Annotated[
        str | None,
        typer.Option(
            show_default="equal",
            help="Weights of several networks: one positive number each, 2,1,1.",
        ),
    ] = None,
    group: Annotated[
        str | None,
        typer.Option(
            help="For a results folder with groups of sites: the group whose consensus is asked, "
            "by its number or, if groups were given, by its name."
        ),
    ] = None,
    site: Annotated[
        str | None,
        typer.Option(
            help="Site whose constants the network uses. For a results folder in which sites "
            "differ by constants in some numbers."
        ),
    ] = None,
    average: Annotated[
        bool,
        typer.Option(
            "--average",
            help="For a results folder: average all structures that fedbn parameters --average "
            "weighted.",
        ),
    ] = False,
    max_cells: Annotated[
        int,
        typer.Option(
            min=1, help="Maximum number of cells in the tables of one question, together."
        ),
    ] = MAX_CELLS,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Write case, variable, state, probability (or quantity, value) to this CSV file; "
            "with --do case, variable, key, value, least, greatest."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Ask a network with parameters; the answers are exact.

    Prints the probability of every state of every variable asked for, given what was observed.
    For a number it prints mean and variance, and quantiles if the network has categories, too. A
    number given for a column that was cut is taken as the interval that it lies in, which is
    printed. Several networks are averaged: each counts by its weight times the probability that it
    gives to what was observed.

    --do removes the arrows into the variables that are set, and so treats every arrow as causal.
    With --class, the minimum and maximum over the equivalence class are printed as well.
    """
    if (versus or over_class) and not do:
        raise ConfigError("--versus and --class go with --do")
    if do and (explain or average or weights is not None or len(networks) > 1):
        raise ConfigError("--do is for one network, with --ask or --all")
    if explain == bool(everything or ask):
        raise ConfigError("give one of --ask X Y, --all and --most-probable")
    if explain and (len(networks) > 1 or average or out is not None):
        raise ConfigError("--most-probable takes one network, and no --out: its answer is printed")
    if average and (len(networks) > 1 or weights is not None):
        raise ConfigError("--average takes one results folder, and its weights, not --weights")
    if group is not None and (len(networks) > 1 or average):
        raise ConfigError("--group is for one results folder, and not with --average")
    if site is not None and (len(networks) > 1 or average or group is not None):
        raise ConfigError("--site is for one results folder, and not with --average or --group")
    if out is not None:
        require_writable(out)
    if group is not None:
        read = [read_group(networks[0], group)]
    elif site is not None:
        read = [read_at_site(networks[0], site)]
    else:
        read = [read_network(source) for source in networks]
    observed = _parse_values(given or [], "--given")
    cases = [observed] if given_file is None else list(read_cases(given_file, observed))
    set_to = _parse_values(do or [], "--do")
    other = _parse_values(versus or [], "--versus")
    mentioned = [*(ask or ()), *(name for case in (*cases, set_to, other) for name in case)]
    for source, network in zip(networks, read, strict=True):
        require_answers(source, network, mentioned, group)
        if everything or explain:
            warn_of_unanswered(source, group)
    if given_file is not None:
        names = {name for network in read for name in network.dag.names}
        _require_variables(given_file, cases, names)
    many = given_file is not None
    say_intervals(read[0], [*cases, set_to, other])
    for source in networks:
        say_differences(source, sets=bool(do), group=group)
    if do:
        asked = Intervention(
            set_to,
            other,
            over_class,
            group,
            knowledge_kept(networks[0]) if over_class else None,
        )
        answer_intervention(
            networks[0],
            read[0],
            asked,
            ask,
            cases,
            max_cells=max_cells,
            out=out,
            as_json=as_json,
            many=many,
        )
        return
    for source, network in zip(networks, read, strict=True):
        warn_of_held_back(source, network, None if explain else ask, cases, group)
    if explain:
        print_most_probable(read[0], cases, max_cells, as_json=as_json, many=many)
        return
    consensus = read[0]
    shares: Sequence[float] = _weights(weights, len(read))
    if average:
        read, shares = read_weighted(networks[0])
    answers = answers_to(read, shares, ask, cases, max_cells)
    if out is not None:
        write_answers(out, answers)
    alone = answers_to([consensus], [1.0], ask, cases, max_cells) if average else None
    if as_json or out is None:
        print_answers(answers, as_json=as_json, many=many, alone=alone)
    if alone is not None and not as_json:
        print_difference(answers, alone, len(read))


def _parse_values(given: Sequence[str], option: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in given:
        name, equals, state = text.partition("=")
        if not (name and equals and state):
            raise ConfigError(f"{option} must be variable=state, not {text!r}")
        if found.setdefault(name, state) != state:
            raise ConfigError(f"{option}: {name!r} cannot be both {found[name]!r} and {state!r}")
    return found


def read_cases(path: Path, observed: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """One dict per row, with what is observed in all of them."""
    try:
        text = read_bounded(path).decode("utf-8-sig")
        rows = list(csv.reader(io.StringIO(text, newline="")))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path} cannot be read: {reason_of(error)}") from None
    if len(rows) < 2:
        raise DataError(f"{path}: there must be a header and at least one case")
    header = rows[0]
    if len(set(header)) < len(header) or not all(header):
        raise DataError(f"{path}: the header must have distinct, non-empty names: {header}")
    for number, row in enumerate(rows[1:], start=1):
        if len(row) != len(header):
            raise DataError(
                f"{path}: row {number} has {count_of(len(row), 'cell')}, not {len(header)}"
            )
        case = {name: state for name, state in zip(header, row, strict=True) if state}
        for name in observed.keys() & case.keys():
            if observed[name] != case[name]:
                raise DataError(
                    f"{path}: row {number} has {name}={case[name]}, --given has "
                    f"{name}={observed[name]}"
                )
        yield {**observed, **case}


def _require_variables(path: Path, cases: Sequence[Mapping[str, str]], known: set[str]) -> None:
    """Raise DataError, which names the file, where a case has a variable that no network has."""
    for name in dict.fromkeys(name for case in cases for name in case):
        if name not in known:
            hint = did_you_mean(name, known)
            raise DataError(f"{path}: the network has no variable {name!r}{hint}")


def _weights(text: str | None, count: int) -> list[float]:
    if text is None:
        return [1.0] * count
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise ConfigError(
            f"--weights must be numbers separated by commas: 2,1,1, not {text!r}"
        ) from None
