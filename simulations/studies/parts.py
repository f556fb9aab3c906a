"""A study's command: its parts, run one after the other, and one report of all of them."""

from __future__ import annotations

import functools
import inspect
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from simulations.options import (
    MinutesOfPart,
    NetworkDir,
    OnlyNetworks,
    Quiet,
    RayAddress,
    SmallCases,
    StudyFolder,
)
from simulations.progress import progress_bars, say_start, stages
from simulations.study import Study, end_line, show_on
from simulations.study_cases import Case, Row, Run

if TYPE_CHECKING:
    from simulations.study_report import Section

ALL = "all"

RESUMED = """Rows are written one by one; an interrupted run continues where it was. The report is
    report.md in the folder."""

FILTERS = {
    "network": OnlyNetworks,
    "rows": Annotated[
        list[int] | None, typer.Option(help="Only cases of this many rows; may be repeated.")
    ],
    "sites": Annotated[
        list[int] | None, typer.Option(help="Only cases of this many sites; may be repeated.")
    ],
}
"""Key of a case -> the option that names its values."""


@dataclass(frozen=True)
class StudyPart:
    """What one part of a study runs, and how it is reported.

    report : sections made of the part's rows; not called where there are none.
    """

    cases: Iterable[Case]
    run: Run
    report: Callable[[Sequence[Row]], Iterable[Section]]


@dataclass(frozen=True)
class Asked:
    """What was typed.

    part : one of the study's parts, or "all".
    only : key of a case -> its values; a key without values restricts nothing.
    minutes : begin no more cases of a part after this time; None: no limit.
    ray_address : of a Ray cluster that runs the cases; None: this machine does.
    seeds : number of seeds of every case; None: as the study's settings have it.
    first_seed : the smallest of them.
    network_dir : folder with networks of the user's; None: none.
    """

    out: Path
    quiet: bool
    ray_address: str | None = None
    part: str = ALL
    minutes: float | None = None
    smoke: bool = False
    seeds: int | None = None
    first_seed: int = 1
    only: Mapping[str, Sequence[object] | None] = field(default_factory=dict)
    network_dir: Path | None = None

    def wants(self, case: Case) -> bool:
        """Whether the case has values that were asked for."""
        return all(not values or case[key] in values for key, values in self.only.items())


Parts = Callable[[Asked], Mapping[str, StudyPart]]


def study_command(
    title: str,
    *,
    seeds: int | None = None,
    parts: Mapping[str, str] | None = None,
    filters: Sequence[str] = ("network", "rows"),
    fresh: bool = False,
    folder: bool = False,
) -> Callable[[Parts], Callable[..., None]]:
    """A decorator: the command of a study, of a function that gives its parts.

    Parameters
    ----------
    title : of the report.
    seeds : default of --seeds; None: there is no such option.
    parts : name -> what the part is, for --part; None: there is no such option.
    filters : keys of FILTERS.
    fresh : whether there is --first-seed, to begin at seeds at which nobody has looked.
    folder : whether there is --network-dir, a folder of networks that the study has no files of.
    """

    def decorate(make: Parts) -> Callable[..., None]:
        @functools.wraps(make)
        def command(out: Path, smoke: bool, quiet: bool, **given: Any) -> None:
            asked = Asked(
                out,
                quiet,
                given["ray_address"],
                part=str(given.get("part", ALL)),
                minutes=given["minutes"],
                smoke=smoke,
                seeds=given.get("seeds"),
                first_seed=given.get("first_seed", 1),
                only={key: given[key] for key in filters},
                network_dir=given.get("network_dir"),
            )
            run_parts(title, asked, make)

        options = _options(seeds, parts, filters, fresh=fresh, folder=folder)
        command.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
        command.__annotations__ = {each.name: each.annotation for each in options}
        command.__doc__ = f"{(make.__doc__ or '').rstrip()}\n\n    {RESUMED}\n    "
        return command

    return decorate


def _options(
    seeds: int | None,
    parts: Mapping[str, str] | None,
    filters: Sequence[str],
    *,
    fresh: bool,
    folder: bool,
) -> list[inspect.Parameter]:
    """The parameters of a study's command, in the order of its help."""
    found: list[tuple[str, Any, object]] = [("out", StudyFolder, inspect.Parameter.empty)]
    if parts is not None:
        names = StrEnum("Part", {name: name for name in (*parts, ALL)})  # type: ignore[misc]
        told = "; ".join(f"{name}: {what}" for name, what in parts.items())
        found.append(("part", Annotated[names, typer.Option(help=f"{told}.")], names[ALL]))
    if seeds is not None:
        option = typer.Option(min=1, show_default=str(seeds), help="Number of seeds of every case.")
        found.append(("seeds", Annotated[int | None, option], None))
    if fresh:
        option = typer.Option(min=1, help="Smallest of the seeds, which follow one another.")
        found.append(("first_seed", Annotated[int, option], 1))
    if folder:
        found.append(("network_dir", NetworkDir, None))
    found += [(key, FILTERS[key], None) for key in filters]
    found += [
        ("smoke", SmallCases, False),
        ("minutes", MinutesOfPart, None),
        ("ray_address", RayAddress, None),
        ("quiet", Quiet, False),
    ]
    kind = inspect.Parameter.KEYWORD_ONLY
    return [
        inspect.Parameter(name, kind, default=default, annotation=annotation)
        for name, annotation, default in found
    ]


def run_parts(title: str, asked: Asked, make: Parts) -> None:
    """Run the cases that have no row yet, write the report, and say where it is.

    Parameters
    ----------
    title : of the report.
    make : gives the parts by name; called after the first line is printed, as it may load much.

    Raises
    ------
    ResultsError : see `Study`. ConfigError : see `run_cases`.
    """
    began = time.monotonic()
    say_start("starting: loading the study", not asked.quiet)
    study = Study(asked.out, ray_address=asked.ray_address)
    wanted = {name: part for name, part in make(asked).items() if asked.part in (name, ALL)}
    ended: list[tuple[StudyPart, list[Row]]] = []
    with progress_bars(not asked.quiet) as tracker:
        for name, part in wanted.items():
            rows = study.collect(
                [case for case in part.cases if asked.wants(case)],
                part.run,
                show_on(tracker(name)),
                seconds=None if asked.minutes is None else 60 * asked.minutes,
            )
            ended.append((part, rows))
    with stages(not asked.quiet) as notify:
        notify("writing the report")
        from simulations.study_report import write_study_report

        sections = [section for part, rows in ended if rows for section in part.report(rows)]
        path = write_study_report(asked.out, title, sections)
    typer.echo(end_line(path, time.monotonic() - began, study), err=True)
