"""What is in a table, column by column, and what it needs before it can be learned from.

For people at the site: nothing of this leaves it.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from fedbn.arrays import Bools, Floats
from fedbn.data.column import Column
from fedbn.data.columns import read_columns
from fedbn.data.cuts import Cuts, cuts_text, number_text
from fedbn.data.doubts import are_dates, date_words, missing_codes
from fedbn.data.identifiers import IdentifierRule
from fedbn.data.preparation import (
    FEWEST_ROWS,
    NA_LIKE,
    OWN_STATES,
    Preparation,
    is_number,
    missing_cells,
    numbers_of,
)
from fedbn.data.quantiles import MANY_NUMBERS, Selection, histogram
from fedbn.data.spellings import meaning
from fedbn.data.table_format import TableFormat
from fedbn.wording import count_of, list_some

INTERVALS = 4
"""How many intervals are proposed for a column of numbers."""

SHOWN = 3
"""How many of the most common states are told."""


@dataclass(frozen=True)
class ColumnFacts:
    """One column.

    Attributes
    ----------
    name : as in the file.
    kind : "categories", "numbers" (every cell is one, and there are many), "identifier" (text of
        too many states, see `IdentifierRule`, or whole numbers that are all different),
        "constant", "empty", or "other" (dates, lists).
    distinct, missing : different texts, and missing cells.
    common : the most common states with their rows.
    cuts : proposed cut points, of numbers.
    remarks : what looks wrong.
    """

    name: str
    kind: str
    distinct: int
    missing: int
    common: tuple[tuple[str, int], ...]
    cuts: Cuts = ()
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class TableFacts:
    """A table: its rows, its columns, and the command that learns from it.

    Attributes
    ----------
    command : with the numbers cut.
    uncut : with the numbers as they are, beside categories or alone; empty where there are none.
    """

    rows: int
    columns: tuple[ColumnFacts, ...]
    command: str
    uncut: str = ""


def inspect(path: str | Path, how: Preparation | None = None) -> TableFacts:
    """Look at every column of a file.

    Parameters
    ----------
    path : a table.
    how : its missing tokens and its form count, the rest does not.

    Raises
    ------
    DataError : the file cannot be read.
    """
    how = how or Preparation()
    columns = read_columns(path, lambda names: tuple(names), lambda _: False, how.form)
    given, how = how, _with_decimal_comma(columns, how)
    facts = tuple(_facts(str(path), name, column, how) for name, column in columns.items())
    rows = next(iter(columns.values())).n_rows
    if how.form != given.form:
        facts = tuple(_with_remark_of_comma(each, columns[each.name], given) for each in facts)
    command, uncut = (_command(str(path), facts, how, cut=cut) for cut in (True, False))
    return TableFacts(rows, facts, command, uncut if any(each.cuts for each in facts) else "")


def _with_decimal_comma(columns: Mapping[str, Column], how: Preparation) -> Preparation:
    """With a decimal comma where that makes numbers of a column, and of none something else."""
    if how.form.decimal != "." or how.form.separator == ",":
        return how
    comma = replace(how, form=replace(how.form, decimal=","))
    now = {name for name, column in columns.items() if _all_numbers(column, how)}
    then = {name for name, column in columns.items() if _all_numbers(column, comma)}
    return comma if now < then else how


def _with_remark_of_comma(facts: ColumnFacts, column: Column, before: Preparation) -> ColumnFacts:
    missing = {"", None, *before.missing}
    marked = [
        text
        for text in column.texts
        if text and text not in missing and not is_number(text, before.form)
    ]
    if facts.kind not in ("numbers", "categories") or not marked or not _has_commas(marked):
        return facts
    said = f"{marked[0]!r} is taken for a number with a decimal comma: --decimal ,"
    return replace(facts, remarks=(*facts.remarks, said))


def _has_commas(texts: list[str]) -> bool:
    comma = TableFormat(separator=";", decimal=",")
    return all(is_number(text, comma) for text in texts)


def identifiers(source: str, columns: Mapping[str, Column], how: Preparation) -> dict[str, int]:
    """Name -> distinct values of every column that looks like an identifier."""
    found = {name: _facts(source, name, column, how) for name, column in columns.items()}
    return {name: each.distinct for name, each in found.items() if each.kind == "identifier"}


def column_numbers(
    source: str, columns: Mapping[str, Column], how: Preparation
) -> dict[str, Floats]:
    """Name -> the numbers, in the agreed unit, of every column whose cells are all numbers.

    Missing cells do not count.
    """
    found = {}
    for name, column in columns.items():
        gone = missing_cells(column, how.missing)
        if gone.all() or not _all_numbers(column, how):
            continue
        if column.values is None:
            present = [i for i, text in enumerate(column.texts) if is_number(text, how.form)]
            values = np.full(len(column.texts), np.nan)
            only = Column(
                [column.texts[i] for i in present], np.arange(len(present), dtype=np.int32)
            )
            values[present] = numbers_of(source, name, only, how.form)
            cells = values[column.index][~gone]
        else:
            cells = column.values[~gone]
        found[name] = cells * how.factors[name] if name in how.factors else cells
    return found


def _all_numbers(column: Column, how: Preparation) -> bool:
    missing = {"", None, *how.missing}
    return all(text in missing or is_number(text, how.form) for text in column.texts)


def _facts(source: str, name: str, column: Column, how: Preparation) -> ColumnFacts:
    gone = missing_cells(column, how.missing)
    texts, counts = _count(column, gone)
    common = sorted(zip(texts, counts, strict=True), key=lambda pair: (-pair[1], pair[0]))
    numbers = column_numbers(source, {name: column}, how).get(name)
    kind = _kind(column, numbers, len(texts), len(gone))
    remarks = []
    for text, count in common:
        if text.strip().casefold() in NA_LIKE:
            remarks.append(
                f"{text!r} in {count_of(count, 'row')}: a missing value? --missing {text!r}"
            )
    few = IdentifierRule().min_state_rows
    rare = sum(count < few for _, count in common)
    if kind == "categories" and rare:
        remarks.append(
            f"{rare} of its states in fewer than {few} rows: a deployed site "
            f"names none of them "
            "unless allow-states under [policy] of its file has the column"
        )
    if column.refusal and kind == "other":
        remarks.append(column.refusal)
    remarks += _doubts(name, texts, numbers)
    cuts = _propose(numbers) if kind == "numbers" and numbers is not None else ()
    missing = int(gone.sum())
    return ColumnFacts(name, kind, len(texts), missing, tuple(common[:SHOWN]), cuts, tuple(remarks))


def _doubts(name: str, texts: list[str], numbers: Floats | None) -> list[str]:
    """What is likely not what it seems: codes of missing values, dates, states of two spellings."""
    said = [date_words(name, texts)] if are_dates(texts) else []
    if numbers is not None:
        for code, rows in missing_codes(numbers).items():
            text = number_text(code)
            said.append(f"{text} in {count_of(rows, 'row')}: a missing value? --missing {text}")
        return said
    spellings: dict[object, list[str]] = {}
    for text in texts:
        spellings.setdefault(meaning(text), []).append(text)
    twins = [found for found in spellings.values() if len(found) > 1]
    return said + [
        f"{list_some(found)} look like one state: [states] of a site's file makes them one"
        for found in twins[:SHOWN]
    ]


def _count(column: Column, gone: Bools) -> tuple[list[str], list[int]]:
    """The texts that are there, and how often."""
    if column.values is not None:
        values, number = np.unique(column.values, return_counts=True)
        return [repr(value) for value in values.tolist()], number.tolist()
    counts = np.bincount(column.index[~gone], minlength=len(column.texts))
    seen = np.flatnonzero(counts).tolist()
    return [str(column.texts[i]) for i in seen], [int(counts[i]) for i in seen]


def _kind(column: Column, numbers: Floats | None, distinct: int, rows: int) -> str:
    if distinct == 0:
        return "empty"
    if numbers is None and column.refusal:
        return "other"
    if are_dates(column.texts):
        return "other"
    if distinct == 1:
        return "constant"
    if numbers is None:
        many = rows >= FEWEST_ROWS and IdentifierRule().why_many(distinct, rows)
        return "identifier" if many else "categories"
    own = rows >= FEWEST_ROWS and distinct > OWN_STATES * rows
    whole = own and bool((numbers == np.floor(numbers)).all()) and distinct == len(numbers)
    if whole:
        return "identifier"
    return "numbers" if distinct > MANY_NUMBERS or column.refusal else "categories"


def _propose(numbers: Floats) -> Cuts:
    state, columns = Selection({"": INTERVALS}), {"": numbers}
    while not state.done:
        state = state.after(histogram(state.question(), columns))
    return state.cuts()[""]


def _command(path: str, facts: tuple[ColumnFacts, ...], how: Preparation, *, cut: bool) -> str:
    words = ["fedbn", "learn", path]
    useless = [each.name for each in facts if each.kind in ("identifier", "empty", "other")]
    for name in useless:
        words += ["--leave-out", name]
    numbers = {each.name: each.cuts for each in facts if each.cuts}
    if not cut:
        words += ["--score", "mixed-bic", "--numbers", ",".join(numbers)]
    for text in cuts_text(numbers) if cut else ():
        words += ["--cuts", text]
    for token in how.missing:
        words += ["--missing", token]
    holed = [each for each in facts if each.missing and each.name not in useless]
    if holed:
        lone = any(each.distinct == 1 for each in holed)  # imputed, it would be constant
        stateless = not cut and any(each.cuts for each in holed)  # a number has no state
        words += ["--missing-cells", "state" if lone and not stateless else "impute"]
    for option, value, usual in (
        ("--separator", how.form.separator, ","),
        ("--decimal", how.form.decimal, "."),
        ("--encoding", how.form.encoding, "utf-8"),
        ("--header", how.form.header, "yes"),
        ("--skip-lines", str(how.form.skip_lines), "0"),
        ("--sheet", how.form.sheet or "", ""),
    ):
        if value != usual:
            words += [option, value]
    return shlex.join(words)
