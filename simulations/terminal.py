"""What the command shows: errors on standard error, tables and JSON on standard output."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from fedbn.errors import FedbnError, FedbnWarning, TableWarning
from fedbn.wording import count_of, list_some

if TYPE_CHECKING:
    from rich.table import Table

    from fedbn.results.summary import Summary

PIPE_WIDTH = 200


def one_line(error: BaseException) -> str:
    """The error's message without line breaks."""
    return " ".join(str(error).split())


def show_error(error: FedbnError | MemoryError) -> None:
    """One line on standard error, no traceback."""
    lack = "memory is not enough: " if isinstance(error, MemoryError) else ""
    print(f"fedbn: error: {lack}{one_line(error)}", file=sys.stderr)


@contextmanager
def show_warnings() -> Iterator[None]:
    """Inside, fedbn's own warnings are single lines on standard error, each said once; what holds
    of several tables is said of the first, and of which others at the end."""
    usual = warnings.showwarning
    said: dict[str, dict[str, None]] = {}

    def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if not issubclass(category, FedbnWarning):
            usual(message, category, *place, **more)
            return
        line = " ".join(str(message).split())
        table, _, words = line.partition(": ") if issubclass(category, TableWarning) else ("",) * 3
        tables = said.setdefault(words or line, {})
        if not tables:
            print(f"fedbn: warning: {line}", file=sys.stderr)
        tables[table] = None

    with warnings.catch_warnings():
        warnings.showwarning = show
        try:
            yield
        finally:
            for words, (_, *others) in said.items():
                if others:
                    more = list_some(others, quoted=False)
                    print(f"fedbn: warning: {more}: {words}", file=sys.stderr)


def print_json(content: Mapping[str, Any]) -> None:
    """Exactly one JSON object on standard output."""
    print(json.dumps(content, ensure_ascii=False))


def print_table(table: Table) -> None:
    """A rich table on standard output; in a pipe or file it may be wider than a terminal."""
    from rich.console import Console

    known = sys.stdout.isatty() or "COLUMNS" in os.environ
    Console(soft_wrap=True, width=None if known else PIPE_WIDTH).print(table)


def summary_table(summary: Summary, title: str, held_out: str) -> Table:
    """What happened, in one table: the inputs, their unrestricted fusion G+, the consensus."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    s = summary
    table = Table(title=title, box=SIMPLE_HEAD, title_justify="left", title_style="bold")
    table.add_column("")
    inputs = f"inputs (mean of {s.inputs})" if s.inputs else "inputs, not known"
    for name in (inputs, "union G+", "consensus"):
        table.add_column(name, justify="right")
    table.add_row("edges", readable(s.inputs_edges), readable(s.fusion_edges), readable(s.edges))
    if s.edges:
        open_ = f"{s.open_directions} of {s.edges}"
        table.add_row("  directions not determined", "", "", open_)
    _add_gold(table, s)
    table.add_row(
        "mean SMHD to the inputs", "", readable(s.fusion_mean_smhd), readable(s.mean_smhd)
    )
    table.add_row("  lower bound for any DAG", "", "", readable(s.lower_bound))
    table.add_row("  gap", "", "", readable(s.gap))
    _add_source(table, s)
    inclusion = f"{readable(s.inclusion_threshold)}: {count_of(s.edges_above_it, 'edge')}"
    table.add_row("  bnlearn's threshold of support", "", "", inclusion)
    table.add_row("upper bound of the treewidth", "", "", readable(s.treewidth))
    if s.held_out is not None:
        table.add_row(
            f"{held_out} on held-out rows", readable(s.inputs_held_out), "", readable(s.held_out)
        )
    if s.log_likelihood is not None:
        table.add_row("log-likelihood of a held-out row", "", "", f"{s.log_likelihood:.3f}")
    if s.refused:
        table.add_row("replies refused", readable(s.refused), "", "")
    if not s.complete:
        table.add_row("search", "", "", "stopped early; this is the best state so far")
    return table


def _add_gold(table: Table, s: Summary) -> None:
    """How far it is to the gold network, if one is known, and what pooled rows would give."""
    if s.smhd_to_gold is not None:
        table.add_row(
            "SMHD to the gold network",
            readable(s.inputs_to_gold),
            readable(s.fusion_to_gold),
            f"[bold]{readable(s.smhd_to_gold)}[/bold]",
        )
        table.add_row(
            "SHD to the gold network",
            readable(s.inputs_shd_to_gold),
            readable(s.fusion_shd_to_gold),
            readable(s.shd_to_gold),
        )
        table.add_row(
            "SID to the gold network", readable(s.inputs_sid_to_gold), "", readable(s.sid_to_gold)
        )
        right = (s.orientation_precision or 0.0, s.orientation_recall or 0.0)
        told = " / ".join(f"{100 * share:.0f} %" for share in right)
        table.add_row("  directions: precision / recall", "", "", told)
    if s.pooled_to_gold is not None:
        table.add_row("  GES on all rows pooled: SMHD", "", "", readable(s.pooled_to_gold))
    if s.closed is not None:
        table.add_row("  share of the way from a site to that", "", "", f"{100 * s.closed:.0f} %")


def _add_source(table: Table, s: Summary) -> None:
    """Where the consensus comes from: a state of the path, counts, a vote, or the other sites."""
    if s.reading == "vote":
        table.add_row("source", "", "", "edge vote")
    elif s.reading == "others":
        table.add_row("source", "", "", "what the inputs that are not far agree on")
    elif s.reading == "counts":
        table.add_row("source", "", "", "sums over the rows of the sites")
    else:
        table.add_row("threshold θ", "", "", "G+" if s.theta is None else str(s.theta))
        table.add_row("reading, pooling", "", "", f"{s.reading}, {s.pooling}")


def times_line(*, fusion: float, wall: float, searches: float | None = None) -> str:
    """CPU seconds of the searches and of the fusion, and seconds by the clock.

    >>> times_line(fusion=0.44, wall=24.3, searches=3.0)
    'Searches at the sites took 3 s, the fusion 0.44 s (CPU); 24.3 s in all by the clock.'
    """
    told = "" if searches is None else f"Searches at the sites took {_seconds(searches)}, the "
    words = f"{told or 'The '}fusion {'' if told else 'took '}{_seconds(fusion)} (CPU)"
    return f"{words}; {wall:.1f} s in all by the clock."


def _seconds(value: float) -> str:
    return f"{readable(value)} s" if value >= 0.005 else "less than 0.01 s"


def print_written(folder: Path) -> None:
    """Where the results are, and every file that is there."""
    from fedbn.results.placement import LARGE

    here = Path.cwd()
    shown = folder.relative_to(here) if folder.is_relative_to(here) else folder
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*")
                   if path.is_file())  # fmt: skip
    first = f"; open {shown / 'report.html'}" if "report.html" in names else ""
    print(f"Results are in {shown}{first}. Its files:")
    print(fill(", ".join(names), 100, initial_indent="  ", subsequent_indent="  "))
    if "figures/smhd.png" in names and "figures/consensus.png" not in names:
        print(f"Above {LARGE} variables there is no figure of the network: report.html shows it.")


def warn_of_replacing(folder: Path) -> None:
    """Say that a folder which nobody named is replaced by this run."""
    if folder.is_dir() and any(folder.iterdir()):
        print(f"fedbn: the results in {folder} will be replaced (--out FOLDER keeps them)",
              file=sys.stderr)  # fmt: skip


def print_rows(header: Sequence[str], rows: Sequence[Sequence[Any]], title: str) -> None:
    """A table with a title on standard output, or its title and "none" where there is no row."""
    if rows:
        print_table(rows_table(header, rows, title))
    else:
        print(f"{title}: none")


def rows_table(header: Sequence[str], rows: Sequence[Sequence[Any]], title: str = "") -> Table:
    """A plain table; numbers to the right."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(title=title or None, box=SIMPLE_HEAD, title_justify="left", title_style="bold")
    for k, name in enumerate(header):
        text = all(isinstance(row[k], str) for row in rows)
        table.add_column(name, justify="left" if text else "right")
    for row in rows:
        table.add_row(*(readable(value) for value in row))
    return table


def readable(value: object) -> str:
    """A number as a reader wants it: at most two decimals, thousands apart.

    >>> readable(Fraction(47, 10)), readable(12345), readable(None)
    ('4.7', '12,345', '-')
    """
    if value is None:
        return "-"
    if isinstance(value, (float, Fraction)):
        text = f"{float(value):,.2f}"
        return text.rstrip("0").rstrip(".")
    return f"{value:,}" if isinstance(value, int) else str(value)
