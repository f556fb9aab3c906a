"""What the command shows: progress bars on standard error, tables and JSON on standard output."""

from __future__ import annotations

import json
import math
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from fedbn.errors import FedbnError, FedbnWarning

if TYPE_CHECKING:
    from rich.table import Table

    from fedbn.results.outcome import Summary
    from simulations.study_cases import Tick

PIPE_WIDTH = 200
Progress = Callable[[int, int], None]
Tracker = Callable[[str], Progress]


def one_line(error: BaseException) -> str:
    """The error's message without line breaks."""
    return " ".join(str(error).split())


def show_error(error: FedbnError | MemoryError) -> None:
    """One line on standard error, no traceback."""
    lack = "memory is not enough: " if isinstance(error, MemoryError) else ""
    print(f"fedbn: error: {lack}{one_line(error)}", file=sys.stderr)


@contextmanager
def show_warnings() -> Iterator[None]:
    """Inside, fedbn's own warnings are single lines on standard error."""
    usual = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if issubclass(category, FedbnWarning):
            print(f"fedbn: warning: {' '.join(str(message).split())}", file=sys.stderr)
        else:
            usual(message, category, *place, **more)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def print_json(content: Mapping[str, Any]) -> None:
    """Exactly one JSON object on standard output."""
    print(json.dumps(content, ensure_ascii=False))


@contextmanager
def progress_bars(shown: bool) -> Iterator[Tracker]:
    """Yield a function that names a bar and returns its `progress(done, total)` callback.

    Nothing is drawn unless `readable` and standard error is a terminal.
    """
    if not shown or not sys.stderr.isatty():
        yield lambda name: lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description:<24}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bars:

        def tracker(name: str) -> Callable[[int, int], None]:
            task = bars.add_task(name, total=None)
            return lambda done, total: bars.update(task, completed=done, total=total)

        yield tracker


def study_line(shown: bool) -> Callable[[Tick], None]:
    """A study's progress on standard error: cases done, and hours and minutes left.

    One line that is written over on a terminal; elsewhere a new line, every half minute at most.
    """
    last = -math.inf

    def tell(tick: Tick) -> None:
        nonlocal last
        ended = tick.done == tick.total
        terminal = sys.stderr.isatty()
        if not shown or (not terminal and not ended and time.monotonic() - last < 30.0):
            return
        last = time.monotonic()
        text = f"{tick.done} of {tick.total} cases"
        if tick.seconds_left is not None and not ended:
            hours, minutes = divmod(round(tick.seconds_left / 60.0), 60)
            text += f", {hours:02d}:{minutes:02d} left"
        end = "" if terminal and not ended else "\n"
        print(f"\r{text:<60}" if terminal else text, end=end, file=sys.stderr, flush=True)

    return tell


@contextmanager
def stages(shown: bool) -> Iterator[Callable[[str], None]]:
    """Yield a function that says which stage has begun, under a running clock.

    Nothing is drawn unless `readable` and standard error is a terminal.
    """
    if not shown or not sys.stderr.isatty():
        yield lambda words: None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:

        def notify(words: str) -> None:
            for task in bars.tasks:
                bars.update(task.id, total=1, completed=1)
            bars.add_task(words, total=None)

        yield notify


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
    table.add_row("  directions not determined", "", "", f"{s.open_directions} of {s.edges}")
    if s.smhd_to_gold is not None:
        table.add_row(
            "SMHD to the true network",
            readable(s.inputs_to_gold),
            readable(s.fusion_to_gold),
            f"[bold]{readable(s.smhd_to_gold)}[/bold]",
        )
        table.add_row(
            "SHD to the true network",
            readable(s.inputs_shd_to_gold),
            readable(s.fusion_shd_to_gold),
            readable(s.shd_to_gold),
        )
    if s.pooled_to_gold is not None:
        table.add_row("  GES on all rows pooled: SMHD", "", "", readable(s.pooled_to_gold))
    if s.closed is not None:
        table.add_row("  closed of the way from a site to there", "", "", f"{100 * s.closed:.0f} %")
    table.add_row(
        "mean SMHD to the inputs", "", readable(s.fusion_mean_smhd), readable(s.mean_smhd)
    )
    table.add_row("  no DAG can be below", "", "", readable(s.lower_bound))
    table.add_row("  gap", "", "", readable(s.gap))
    if s.reading == "vote":
        table.add_row("source", "", "", "edge vote: the search was cut short")
    elif s.reading == "counts":
        table.add_row("source", "", "", "exact counts of families")
    else:
        table.add_row("threshold θ", "", "", "G+" if s.theta is None else str(s.theta))
        table.add_row("reading, pooling", "", "", f"{s.reading}, {s.pooling}")
    table.add_row("treewidth at most", "", "", readable(s.treewidth))
    if s.held_out is not None:
        table.add_row(
            f"{held_out} on held-out rows", readable(s.inputs_held_out), "", readable(s.held_out)
        )
    if s.refused:
        table.add_row("replies refused", readable(s.refused), "", "")
    if not s.complete:
        table.add_row("search", "", "", "stopped early: best state so far")
    return table


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
