"""What `fedbn query --do` answers: variables that are set, differences, ranges over the class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedbn.errors import ConfigError, QueryError
from fedbn.graphs.dag import DAG
from fedbn.graphs.directions import directed_words
from fedbn.graphs.knowledge import Knowledge
from fedbn.graphs.known_class import class_of
from fedbn.inference.interventions import EffectRange, effect_between, query_do, range_over_class
from fedbn.networks.conditional_gaussian import ConditionalGaussianNetwork
from fedbn.networks.parameter_sources import held_back_words
from fedbn.spreadsheet import written_text
from fedbn.whole_file import write_whole
from simulations.commands.answers import held_back_among, why_unanswered

if TYPE_CHECKING:
    from fedbn.inference.interventions import Numbers
    from fedbn.networks.conditional_gaussian import Network

TAKEN = (
    "Every arrow of this network is taken for cause and effect; --class gives the range over all "
    "networks that say the same of the data."
)


@dataclass(frozen=True)
class Intervention:
    """What is asked.

    Parameters
    ----------
    do : variable that is set -> value.
    versus : the same variables with the values to compare with; empty for the answers themselves.
    over_class : whether the range over the equivalence class is wanted.
    group : the group of sites whose network it is, where it is one's.
    knowledge : what the members of the class keep.
    """

    do: Mapping[str, str]
    versus: Mapping[str, str]
    over_class: bool
    group: str | None = None
    knowledge: Knowledge | None = None

    def __post_init__(self) -> None:
        if self.versus and self.versus.keys() != self.do.keys():
            raise ConfigError(
                f"--versus must have the variables of --do, {', '.join(self.do)}, "
                f"not {', '.join(self.versus)}"
            )


def answer_intervention(
    source: str,
    network: Network,
    asked: Intervention,
    ask: Sequence[str] | None,
    cases: Sequence[Mapping[str, str]],
    *,
    max_cells: int,
    out: Path | None,
    as_json: bool,
    many: bool,
) -> None:
    """Answer every case, and print or write the answers.

    Raises
    ------
    QueryError : see `fedbn.inference.interventions`; or an answer would depend on a table that is
        without the rows of some sites, whose variable is named.
    """
    _require_whole_tables(source, network.dag, asked, ask, cases)
    if asked.over_class and (lacking := why_unanswered(source, asked.group)):
        name, why = next(iter(lacking.items()))
        raise QueryError(
            f"--class needs the tables of all variables, but there is none of {name!r}: {why}"
        )
    answers = [
        _answer(network, asked, ask, case, number, max_cells)
        for number, case in enumerate(cases, start=1)
    ]
    header, rows = _table(answers, asked.over_class)
    if out is not None:
        write_whole(out, written_text([header, *rows]))
    if as_json:
        from simulations.terminal import print_json

        contents = [_content(answer, asked.over_class) for answer in answers]
        print_json({"cases": contents} if many else contents[0])
    elif out is None:
        has_range = not isinstance(network, ConditionalGaussianNetwork)
        _print(header, rows, answers, asked, many, has_range=has_range)


def _answer(
    network: Network,
    asked: Intervention,
    ask: Sequence[str] | None,
    case: Mapping[str, str],
    number: int,
    max_cells: int,
) -> EffectRange:
    names = ask or None
    try:
        if asked.over_class:
            versus, pattern = asked.versus or None, class_of(network.dag, asked.knowledge)
            return range_over_class(
                network, names, asked.do, case, versus=versus, pattern=pattern, max_cells=max_cells
            )
        found = query_do(network, names, asked.do, case, max_cells=max_cells)
        if asked.versus:
            other = query_do(network, names, asked.versus, case, max_cells=max_cells)
            found = effect_between(found, other)
        return EffectRange(found, found, found, 1)
    except QueryError as error:
        raise type(error)(f"case {number}: {error}" if number > 1 else str(error)) from None


def _require_whole_tables(
    source: str,
    dag: DAG,
    asked: Intervention,
    ask: Sequence[str] | None,
    cases: Sequence[Mapping[str, str]],
) -> None:
    """Raise QueryError where an answer would depend on a table without the rows of some sites."""
    wanted = {*(ask or dag.names), *(name for case in cases for name in case)}
    adjacency = dag.adjacency.copy()
    if asked.over_class:  # a member may have any open neighbour for a parent
        ends = [
            edge for edge, word in directed_words(dag, asked.knowledge).items() if word == "open"
        ]
        wanted |= {*asked.do, *(v for edge in ends if {*edge} & {*asked.do} for v in edge)}
    else:
        adjacency[:, [name in asked.do for name in dag.names]] = False
    concerned = held_back_among(source, DAG(dag.names, adjacency), wanted, asked.group)
    if not asked.over_class:
        concerned = {name: sites for name, sites in concerned.items() if name not in asked.do}
    said = list(held_back_words(concerned))
    if said:
        raise QueryError(f"{'; '.join(said)}; no effect is computed from it")


def _content(answer: EffectRange, over_class: bool) -> Any:
    """variable -> key -> number, or value, least and greatest."""
    if not over_class:
        return answer.written
    return {
        name: {
            key: {
                "value": value,
                "least": answer.least[name][key],
                "greatest": answer.greatest[name][key],
            }
            for key, value in numbers.items()
        }
        for name, numbers in answer.written.items()
    }


def _table(
    answers: Sequence[EffectRange], over_class: bool
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    header = ("case", "variable", "key", "value")
    rows = []
    for number, answer in enumerate(answers, start=1):
        columns: list[Numbers] = [answer.written]
        if over_class:
            columns += [answer.least, answer.greatest]
        for name, numbers in answer.written.items():
            for key in numbers:
                told = (f"{column[name][key]:.6g}" for column in columns)
                rows.append((str(number), name, key, *told))
    return ((*header, "least", "greatest") if over_class else header), rows


def _print(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    answers: Sequence[EffectRange],
    asked: Intervention,
    many: bool,
    *,
    has_range: bool,
) -> None:
    from simulations.terminal import print_table, rows_table

    first = 0 if many else 1
    print_table(rows_table(tuple(header[first:]), [tuple(row[first:]) for row in rows]))
    if not asked.over_class:
        print(TAKEN if has_range else TAKEN.partition(";")[0] + ".")
        return
    count = max(answer.parent_sets for answer in answers)
    those = "all networks that fit the data equally"
    if asked.knowledge is not None:
        those += " and keep the run's knowledge"
    print(
        f"Least and greatest over {those}: they give {', '.join(asked.do)} {count} different sets "
        "of parents."
        if count > 1
        else f"{those[0].upper()}{those[1:]} give {', '.join(asked.do)} the same parents, and the "
        "same answer."
    )
