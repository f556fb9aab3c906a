"""How a run wants its tables prepared, as settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fedbn.data.cuts import Cuts, parse_cuts
from fedbn.data.preparation import Preparation
from fedbn.data.quantiles import parse_intervals
from fedbn.data.schema import MISSING_CELLS
from fedbn.data.table_format import DECIMALS, ENCODINGS, HEADERS, SEPARATORS, TableFormat
from fedbn.errors import ConfigError
from fedbn.setting import Settings, at_least, one_of, setting


@dataclass(frozen=True)
class TableSettings(Settings):
    """Which columns, what missing cells are, where numbers are cut, how CSV files are written."""

    columns: tuple[str, ...] = setting(
        (), "Columns to learn from: --columns age,sex; may be repeated.", shown="all"
    )
    leave_out: tuple[str, ...] = setting(
        (), "Columns to ignore: --leave-out id,name; may be repeated.", shown="none"
    )
    leave_out_identifiers: bool = setting(
        False,
        "Ignore columns that look like identifiers: text with more than 50 states or more than one "
        "state per three rows, and whole numbers that are all different.",
    )
    missing: tuple[str, ...] = setting(
        (),
        "Text that marks a missing cell, such as NA, in addition to empty cells; may be repeated.",
        shown="none",
    )
    missing_cells: str = setting(
        "refuse",
        "How missing cells are treated: refuse (the table), state (they are a state of their own), "
        "drop-rows (their rows are left out; valid if cells are missing completely at random) or "
        "impute (filled by structural EM while a site learns; valid if cells are missing at "
        "random; the site then sends no counts).",
        one_of(*MISSING_CELLS),
    )
    cuts: tuple[str, ...] = setting(
        (), "Cut points of a column of numbers: --cuts age=40,60; may be repeated.", shown="none"
    )
    discretise: tuple[str, ...] = setting(
        (),
        "Cut numbers into intervals of equal frequency: 4 intervals for every column of numbers, "
        "or age:4,bmi:3. In a run the cut points are found by sums over all sites.",
        shown="none",
    )
    numbers: tuple[str, ...] = setting(
        (),
        "Columns that are numbers, of a mixed table (mixed-bic, mixed-aic); all others are "
        "categories: --numbers age,bmi; may be repeated.",
        shown="none",
    )
    spellings: str = setting(
        "refuse",
        "What to do with states that sites spell differently (Yes and yes, 22 and 22.0): refuse "
        "the run, or accept them as different states.",
        one_of("refuse", "accept"),
    )
    separator: str = setting(",", "Character between the cells of a CSV file.", one_of(*SEPARATORS))
    decimal: str = setting(".", "Decimal mark of a CSV file.", one_of(*DECIMALS))
    encoding: str = setting("utf-8", "Encoding of a CSV file.", one_of(*ENCODINGS))
    header: str = setting(
        "yes",
        "Whether the first line of a CSV file names its columns. If not, they are called V1, V2, "
        "...",
        one_of(*HEADERS),
    )
    skip_lines: int = setting(
        0, "Number of lines before the header of a CSV or Excel file.", at_least(0)
    )
    sheet: str | None = setting(None, "Sheet of an Excel file.", shown="the first")

    def __post_init__(self) -> None:
        super().__post_init__()
        cut = set(parse_cuts(self.cuts))
        uncut = sorted(set(_names(self.numbers)) & (cut | set(parse_intervals(self.discretise)[1])))
        if uncut:
            raise ConfigError(f"column {uncut[0]!r} cannot be both cut and a number")
        twice = sorted(cut & set(parse_intervals(self.discretise)[1]))
        if twice:
            raise ConfigError(f"column {twice[0]!r} cannot have cuts and be discretised")
        both = sorted(set(_names(self.columns)) & set(_names(self.leave_out)))
        if both:
            raise ConfigError(f"column {both[0]!r} cannot be both chosen and left out")
        self._form()

    def preparation(self, cuts: Mapping[str, Cuts] | None = None) -> Preparation:
        """What to do with a table; `cuts`, if given, are in place of the settings' own."""
        return Preparation(
            columns=_names(self.columns),
            leave_out=_names(self.leave_out),
            missing=self.missing,
            missing_cells=self.missing_cells,
            cuts=parse_cuts(self.cuts) if cuts is None else cuts,
            form=self._form(),
            numbers=_names(self.numbers),
        )

    def _form(self) -> TableFormat:
        return TableFormat(
            self.separator,
            self.decimal,
            self.encoding,
            self.header,
            self.skip_lines,
            self.sheet,
        )

    @property
    def intervals(self) -> tuple[int | None, dict[str, int]]:
        """What `discretise` says: of every column of numbers, or of named ones."""
        return parse_intervals(self.discretise)


def _names(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Names, of which several may stand in one text, with commas."""
    return tuple(name for text in texts for name in text.split(","))
