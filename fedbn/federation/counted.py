"""What a site has counted for others, so that two answers are no difference of a few rows.

Under one contract all counts are of the same rows, in the same cells, and any two of them agree.
Under two contracts they need not: another cut point, a number that was a category, a table with one
more row. So the site keeps what it told (`NAME.counted`, beside its log, for nobody else to read;
of a table its cells above 0, of a column its states once) and refuses an answer under another
contract from which, with one that it told before, something of 1 to `least` - 1 rows would follow.
One rule holds for counts, moments and sums of products, whichever came first
(`fedbn.privacy.told_counts.ToldCounts.differs_by_few`); where it refuses, nothing is written.
Where the file is full nothing new is counted (`fedbn.federation.kept_lines`).

What would be too much to compare is refused, or held back before (`COMPARED_CELLS`). What is not
seen: differences of sums of differences, and what others know.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fedbn.data.schema import Schema, Variable
from fedbn.federation.kept_lines import enter_lines
from fedbn.federation.policy import refusal
from fedbn.networks.family_counts import FamilyCounts
from fedbn.privacy.small_counts import COMPARED_CELLS
from fedbn.privacy.told_counts import ToldCounts, pairs_to_compare


def counted_beside(log: Path) -> Path:
    """Where it is written what a site with this log has counted."""
    return log.with_name(f"{log.name}.counted")


def tables_of(counts: FamilyCounts, digest: str) -> list[ToldCounts]:
    """The tables of families, each over its columns in the order of their names. Those of more than
    `COMPARED_CELLS` cells are left out: they leave only a site that lets small counts leave, where
    there is nothing to compare."""
    schema, found = counts.tables.schema, []
    for family in counts.tables.families:
        if counts.tables.cells_of(family) > COMPARED_CELLS:
            continue
        columns = [*family.parents, family.node]
        shape = schema.cardinalities[columns].tolist()
        cells = counts.table(family).reshape(shape).transpose(np.argsort(columns))
        part = Schema(tuple(schema.variables[k] for k in sorted(columns)))
        found.append(ToldCounts(digest, part, cells))
    return found


def enter_counts(path: Path, tables: Sequence[ToldCounts], least: int) -> None:
    """Compare tables that are to be told with all that were, and write them down first; not one
    over columns that an earlier one of the same rows has, too.

    Raises PolicyError: "min-cell", one differs from an earlier one by fewer than `least` rows;
    "counts", the file is full; ResultsError: the file cannot be read or written.
    """

    def new(known: Sequence[Any]) -> Iterable[Any]:
        columns, earlier = read_tables(known)
        for table, each in pairs_to_compare(tables, earlier, least):
            if table.differs_by_few(each, least):
                kind = "missing cells" if table.share else "counts"
                what = (
                    f"{kind} of {', '.join(table.names)}"
                    if table.names
                    else "answers about these rows"
                )
                raise refusal("min-cell", f"{what} differ from what was told before by few rows")
        told = [(each.digest, each.share, {*each.names}, each.sums) for each in earlier]
        for table in sorted(tables, key=lambda each: -len(each.names)):
            own = {*table.names}
            if not any(
                (table.digest, table.share) == (digest, share)
                and own <= names
                and sums >= table.sums
                for digest, share, names, sums in told
            ):
                told.append((table.digest, table.share, own, table.sums))
                yield from _to_lines(table, columns)

    enter_lines(path, new, word="counts", holds="what was counted")


def enter_sums(path: Path, counts: FamilyCounts | None, digest: str, rows: int, least: int) -> None:
    """The same for sums of products of so many rows, of which numbers that mostly differ have
    no cells; `counts` are those that the sums hold, of one or two columns, None where there are
    none."""
    alone = ToldCounts(digest, None, np.array(rows), sums=True)
    tables = [] if counts is None else tables_of(counts, digest)
    enter_counts(path, [alone, *tables], least)


def _to_lines(table: ToldCounts, columns: list[Variable]) -> Iterable[Any]:
    """The lines of a table: its columns, where none has them yet, and its cells above 0; or the
    number of rows, and whether sums were told of them."""
    if table.schema is None:
        yield {"digest": table.digest, "rows": table.rows, "sums": table.sums}
        return
    for variable in table.schema.variables:
        if variable not in columns:
            columns.append(variable)
            yield {"column": Schema((variable,)).to_dict()}
    cells = table.cells.ravel()
    places = np.flatnonzero(cells)
    yield {
        "digest": table.digest,
        "over": [columns.index(variable) for variable in table.schema.variables],
        "gaps": np.diff(places, prepend=0).tolist(),
        "counts": cells[places].tolist(),
        **({"share": True} if table.share else {}),
    }


def read_tables(known: Sequence[Any]) -> tuple[list[Variable], list[ToldCounts]]:
    """The columns in the order of their lines, and the tables; raises ValueError or KeyError. In
    older files a table names its contract instead of its rows: it is compared with all."""
    columns: list[Variable] = []
    found = []
    for line in known:
        if "column" in line:
            columns += Schema.from_dict(line["column"]).variables
        elif "over" in line:
            schema = Schema(tuple(columns[k] for k in line["over"]))
            shape = tuple(schema.cardinalities.tolist())
            cells = np.zeros(math.prod(shape), dtype=np.int64)
            cells[np.cumsum(line["gaps"], dtype=np.int64)] = line["counts"]
            digest = str(line["digest"] if "digest" in line else line["contract"])
            share = bool(line.get("share", False))
            found.append(ToldCounts(digest, schema, cells.reshape(shape), share=share))
        elif {"digest", "rows"} <= line.keys():
            rows = np.array(int(line["rows"]), dtype=np.int64)
            sums = bool(line.get("sums", True))
            found.append(ToldCounts(str(line["digest"]), None, rows, sums))
        else:
            raise ValueError(f"{line!r:.60} is none of it")
    return columns, found
