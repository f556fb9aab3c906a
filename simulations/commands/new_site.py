"""A complete site's file for a table: every decision pinned, and a comment on each line.

What is found in the table is what `fedbn inspect` finds. It is strict: nothing of single rows gets
into the file, and nothing leaves but equivalence classes, unless somebody loosens it; each
loosening says in the file what it gives away.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fedbn.data.columns import read_columns
from fedbn.data.cuts import Cuts, interval_codes
from fedbn.data.identifiers import IdentifierRule
from fedbn.data.inspection import ColumnFacts, column_numbers, inspect
from fedbn.data.preparation import Preparation, missing_cells
from fedbn.data.schema import MISSING_STATE, NUMBER, Schema, Variable
from fedbn.data.table_format import TableFormat
from fedbn.errors import ConfigError, did_you_mean

OTHER = "other"
"""What rare states become."""

LOOSENINGS: Mapping[str, str] = {
    "counts": "exact counts of families: an observer of all rows but one can infer that row",
    "dags": "structures with all directions, also those that the data do not determine: these "
    "reveal the course of the search",
    "diagnostics": "this site's name, its number of rows, and the seconds that it took",
    "histograms": "for cut points: numbers of cells in a bucket, at least five",
    "learners": "any learner, score and setting: every choice is a question of its own",
}
"""What can be allowed, and what it gives away."""


@dataclass(frozen=True)
class Columns:
    """What becomes of a table's columns.

    Attributes
    ----------
    schema : the columns that are named; None: there is none.
    left_out : own column -> why.
    states : column -> {own state: other}, of states with few rows.
    missing : whether some cell of a column that is named is missing.
    """

    schema: Schema | None
    left_out: Mapping[str, str]
    states: Mapping[str, Mapping[str, str]]
    missing: bool


def site_text(
    table: str | Path,
    how: Preparation | None = None,
    *,
    name: str,
    schema: Schema | None = None,
    allow: Collection[str] = (),
) -> str:
    """The text of a site's file.

    Parameters
    ----------
    table : which lies beside the file.
    how : its form and its missing tokens.
    name : of the site.
    schema : the agreed columns and states; None for those that are found.
    allow : words of LOOSENINGS.

    Raises
    ------
    ConfigError : there is no such word, or no column can be named.
    DataError : the table cannot be read.
    """
    for word in allow:
        if word not in LOOSENINGS:
            raise ConfigError(
                f"{word!r} cannot be allowed{did_you_mean(word, LOOSENINGS)}; it must be one of "
                f"{', '.join(LOOSENINGS)}"
            )
    how = how or Preparation()
    found = _look(table, how) if schema is None else Columns(schema, {}, {}, True)
    if found.schema is None:
        reasons = "; ".join(f"{column}: {why}" for column, why in found.left_out.items())
        raise ConfigError(f"{table} has no column that may be named: {reasons}")
    cells = "state" if found.missing and schema is None else "refuse"
    if schema is not None and any(MISSING_STATE in (v.states or ()) for v in schema.variables):
        cells = "state"
    lines = [
        *_head(name, Path(table).name, how, cells),
        *_leave_out(found.left_out),
        *_schema(found.schema),
        *_factors(found.schema, allow),
        *_policy(found.schema, allow),
        *_offers("learners" in allow, found.schema.kind),
        *_states(found.states),
    ]
    return "\n".join(lines) + "\n"


def _look(table: str | Path, how: Preparation) -> Columns:
    """What is found: a variable for every column that may be named."""
    facts = inspect(table, how)
    columns = read_columns(table, lambda names: tuple(names), lambda _: False, how.form)
    least, variables, left_out, states = IdentifierRule().min_state_rows, [], {}, {}
    missing = False
    for each in facts.columns:
        gone = missing_cells(columns[each.name], how.missing)
        few = 0 < int(gone.sum()) < least
        if few:
            left_out[each.name] = f"cells are missing in fewer than {least} rows"
            continue
        if each.kind == "numbers":
            (numbers,) = column_numbers(str(table), {each.name: columns[each.name]}, how).values()
            cuts = _round_cuts(each.cuts, numbers, least)
            if not cuts:
                left_out[each.name] = "numbers that cannot be cut"
                continue
            variables.append(Variable.cut(each.name, cuts, missing=bool(gone.any())))
        elif each.kind == "categories":
            column = columns[each.name]
            rows = np.bincount(column.index[~gone], minlength=len(column.texts)).tolist()
            seen = {str(t): n for t, n in zip(column.texts, rows, strict=True) if n}
            mapped = _map_rare(seen, least)
            names = {mapped.get(state, state) for state in seen} if mapped is not None else set()
            if len(names) < 2 or (OTHER in seen and mapped):
                left_out[each.name] = "too few states that five rows have"
                continue
            if mapped:
                states[each.name] = mapped
            more = (MISSING_STATE,) if gone.any() else ()
            variables.append(Variable(each.name, (*sorted(names), *more)))
        else:
            left_out[each.name] = _why(each)
            continue
        missing = missing or bool(gone.any())
    return Columns(Schema(tuple(variables)) if variables else None, left_out, states, missing)


def _why(facts: ColumnFacts) -> str:
    words = {
        "identifier": "looks like an identifier",
        "constant": "has one state only",
        "empty": "is empty",
        "other": "holds neither states nor numbers",
    }
    return words[facts.kind]


def _round_cuts(cuts: Cuts, numbers: Any, least: int) -> Cuts:
    """Cut points of two digits, for the exact ones are numbers of rows; no interval has few."""
    kept: list[float] = []
    for cut in sorted({float(f"{cut:.2g}") for cut in cuts}):
        rows = np.bincount(interval_codes([*kept, cut], numbers), minlength=len(kept) + 2)
        if rows.min() >= least:
            kept.append(cut)
    return tuple(kept)


def _map_rare(rows: Mapping[str, int], least: int) -> Mapping[str, str] | None:
    """State -> OTHER for those of few rows; None where they are too few together."""
    rare = [state for state, count in rows.items() if count < least]
    if rare and sum(rows[state] for state in rare) < least:
        return None
    return dict.fromkeys(sorted(rare), OTHER)


def _head(name: str, table: str, how: Preparation, cells: str) -> Iterable[str]:
    form: TableFormat = how.form
    yield _line("name", name, "what the server may call this site, if diagnostics are allowed")
    yield _line("table", table, "read once, by fedbn site prepare")
    yield _line(
        "separator", form.separator, "between cells; no run can change how the table is read"
    )
    yield _line("decimal", form.decimal, "mark of decimals")
    yield _line("encoding", form.encoding, "of the text")
    yield _line("header", form.header, "whether the first line names the columns")
    yield _line("skip-lines", form.skip_lines, "lines before it")
    if form.sheet is not None:
        yield _line("sheet", form.sheet, "of the Excel file")
    yield _line("missing", list(how.missing), "texts of a missing cell, besides the empty one")
    yield _line("missing-cells", cells, "refuse, state (of its own), drop-rows or impute")


def _leave_out(left_out: Mapping[str, str]) -> Iterable[str]:
    for name, why in left_out.items():
        yield f"# column {json.dumps(name, ensure_ascii=False)} is left out: {why}"
    yield _line("leave-out", list(left_out), "columns that take no part")


def _schema(schema: Schema) -> Iterable[str]:
    yield ""
    yield "[schema]  # all that may be named: columns, with their states or cut points"
    for variable in schema.variables:
        if variable.states is None:
            yield _line(_toml(variable.name), NUMBER, "no states: its cells are numbers")
        elif variable.cuts is None:
            yield _line(_toml(variable.name), list(variable.states or ()), "its states")
        else:
            missing = ", missing = true" if MISSING_STATE in (variable.states or ()) else ""
            cuts = ", ".join(map(repr, variable.cuts))
            said = f"{_toml(variable.name)} = {{cuts = [{cuts}]{missing}}}"
            yield f"{said:<31} # its cut points: states are the intervals between them"


def _factors(schema: Schema, allow: Collection[str]) -> Iterable[str]:
    """Where no histogram may leave, nobody else can see that a site measures in another unit."""
    if schema.cuts and "histograms" not in allow:
        yield ""
        yield "# No histogram leaves: only this site can see whether columns with cut points are"
        yield '# in the agreed units. If one is not: [factors], with a line like "height" = 0.01'


def _policy(schema: Schema, allow: Collection[str]) -> Iterable[str]:
    yield ""
    yield "[policy]  # what may leave"
    yield _line("kind", schema.kind, "of the columns")
    yield _line("variables", list(schema.names), "the only columns that may be named")
    yield _line("min-rows", 100, "with fewer rows nothing is sent")
    yield _line("max-in-degree", 8, "maximum number of parents in a structure")
    yield _line(
        "max-dags", 20 if "learners" in allow else 1, "maximum number of structures in one message"
    )
    yield _line("max-messages", 50, "answers to one run")
    yield _line("max-messages-a-day", 100, "and in 24 hours")
    yield _line("max-sums", 1000, "masked shares to one run")
    yield _line("min-cell", 11, "no count from 1 to 10 leaves, but under masks")
    yield _line("disclosure", "pcornet", 'the same, masks included; "opensafely" rounds')
    yield _line("weights", "rounded", "of several structures, to powers of two")
    yield _choice("structures", ("dag", "cpdag"), "dags", allow)
    for key in ("counts", "diagnostics", "histograms"):
        yield _choice(key, (True, False), key, allow)


def _choice(key: str, values: tuple[Any, Any], word: str, allow: Collection[str]) -> str:
    """The line of a decision that can be loosened, with what it gives away, or would."""
    if word in allow:
        return _line(key, values[0], f"gives away: {LOOSENINGS[word]}")
    return _line(key, values[1], f"{_toml(values[0])} would give away: {LOOSENINGS[word]}")


def _offers(free: bool, kind: str) -> Iterable[str]:
    yield ""
    if free:
        yield f"[offers]  # nothing is pinned: {LOOSENINGS['learners']}"
        return
    yield "[offers]  # what a run may choose; every choice is a question of its own"
    yield _line("learner", "ges", "the only learner")
    score = {"categorical": "bdeu", "gaussian": "bge", "mixed": "mixed-bic"}[kind]
    yield _line("score", score, "the only score")
    yield _line("ess", 1, "its equivalent sample size")
    yield _line("row-weight", 1, "factor of every count")
    yield _line("max-parents", 8, "of the search")


def _states(states: Mapping[str, Mapping[str, str]]) -> Iterable[str]:
    for name, mapped in states.items():
        yield ""
        yield f"[states.{_toml(name)}]  # states of few rows, under one name"
        yield from (_line(_toml(own), other, "few rows") for own, other in mapped.items())


def _line(key: str, value: Any, comment: str) -> str:
    said = f"{key} = {_toml(value)}"
    return f"{said:<31} # {comment}"


def _toml(value: Any) -> str:
    """A value as TOML, which takes JSON's texts, numbers, lists and booleans."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
