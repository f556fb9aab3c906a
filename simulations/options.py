"""Options that several commands have, each said once."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from click import Context
from typer.core import TyperCommand, TyperOption

__all__ = [
    "LEARNING",
    "Json",
    "Missing",
    "NetworkDir",
    "Quiet",
    "SchemaFile",
    "Seed",
    "SeveralValues",
    "examples",
    "with_learning_options",
]


def examples(*lines: str) -> str:
    """The end of a command's help: lines to copy."""
    return "\n\n".join(("[bold]Examples[/bold]", *(f"[cyan]{line}[/cyan]" for line in lines)))


Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bars, no table.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of everything random.")]
NetworkDir = Annotated[
    Path | None, typer.Option(help="Folder with more networks, NAME.bif[.gz] or NAME.json[.gz].")
]
SchemaFile = Annotated[
    Path | None,
    typer.Option(
        "--schema", help='JSON file {"column": ["state", ...]}; anything else is then an error.'
    ),
]
Missing = Annotated[
    list[str] | None,
    typer.Option(help="A cell that means missing, besides the empty cell; may be repeated."),
]


LEARNING = "Learning"


def _option(kind: type, words: str, *flags: str, default: str | bool = True) -> Any:
    option = typer.Option(*flags, show_default=default, rich_help_panel=LEARNING, help=words)
    return Annotated[kind | None, option]  # type: ignore[valid-type]


LEARNING_OPTIONS: Mapping[str, Any] = {
    "learner": _option(
        str,
        "One structure: ges, xges0, xges (slower, better), hc, cg-dca, ordering, "
        "optimal (with a proof). Several, weighted: bootstrap, credible.",
        default="ges",
    ),
    "score": _option(
        str,
        "bdeu, bic, aic (columns are categories); gaussian-bic, gaussian-aic, bge (numbers).",
        default="bdeu",
    ),
    "ess": _option(float, "Equivalent sample size of BDeu.", default="1"),
    "max-parents": _option(int, "In-degree.", default="no limit"),
    "max-t": _option(
        int, "ges, xges0, xges: neighbours that one Insert may direct.", default="no limit"
    ),
    "memory-mb": _option(float, "MB for stored scores and bitmaps.", default="512"),
    "knowledge": _option(
        Path,
        "ges, xges0, xges, hc, bootstrap: a .json or .toml file with required and forbidden edges "
        "and tiers.",
    ),
    "turning": _option(bool, "GES with its turning phase.", "--turning"),
    "repeat": _option(bool, "GES until no phase improves.", "--repeat"),
    "random-ties": _option(bool, "Ties by --seed instead of by name.", "--random-ties"),
    "bf": _option(
        float, "credible: structures within this Bayes factor of the best.", default="20"
    ),
    "max-dags": _option(int, "credible, bootstrap: DAGs sent at most.", default="20"),
    "replicates": _option(int, "bootstrap: resampled tables.", default="100"),
    "learner-seconds": _option(
        float, "Time per search.", "--learner-seconds", "--seconds", default="no limit"
    ),
    "pricing": _option(
        str,
        "cg-dca: dca, dca-random, dca-permutations, dca-greedy, local-search (any score).",
        default="dca",
    ),
    "inner": _option(str, "cg-dca: or kelley.", default="minimum-norm"),
    "start-point": _option(
        str, "cg-dca: where DCA begins: hybrid, random, warm.", "--start", default="hybrid"
    ),
    "search-memory-mb": _option(
        float,
        "cg-dca, optimal, ordering: MB that the search may hold.",
        "--memory",
        default="what is free",
    ),
}
"""Setting of the run config -> its option, in the order of `--help`."""


class SeveralValues(TyperCommand):
    """A command whose list options take several values: `--ask X Y` is `--ask X --ask Y`."""

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """Say the option again before every further value, then parse as ever."""
        several = {
            flag
            for option in self.params
            if isinstance(option, TyperOption) and option.multiple
            for flag in option.opts
        }
        spread: list[str] = []
        current: str | None = None
        for argument in args:
            if argument.startswith("-"):
                flag, equals, _ = argument.partition("=")
                current = flag if flag in several else None
                if current and not equals:
                    continue
                spread.append(argument)
            else:
                spread += [current, argument] if current else [argument]
        return super().parse_args(ctx, spread)


def with_learning_options(command: Callable[..., None]) -> Callable[..., None]:
    """`command` with all of LEARNING_OPTIONS in place of its parameter `learning`.

    It is called with `learning`: setting -> value, None where the option is not given.
    """
    names = {setting.replace("-", "_"): setting for setting in LEARNING_OPTIONS}
    signature = inspect.signature(command, eval_str=True)
    options = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=LEARNING_OPTIONS[setting],
        )
        for name, setting in names.items()
    ]
    parameters = [
        each.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for parameter in signature.parameters.values()
        for each in (options if parameter.name == "learning" else [parameter])
    ]

    @functools.wraps(command)
    def with_options(**values: Any) -> None:
        given = {setting: values.pop(name) for name, setting in names.items()}
        learning = {
            setting: str(value) if isinstance(value, Path) else value
            for setting, value in given.items()
        }
        command(**values, learning=learning)

    with_options.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    with_options.__annotations__ = {each.name: each.annotation for each in parameters}
    return with_options
