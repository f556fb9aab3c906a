"""Options of the command. Those that are settings are made from the settings themselves."""

from __future__ import annotations

import functools
import inspect
import io
import types
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Union, get_args, get_origin

import typer
from click import Context
from typer.core import TyperCommand, TyperOption

from fedbn.errors import ConfigError
from fedbn.setting import Setting, settings_of


def examples(*lines: str) -> str:
    """The end of a command's help: lines to copy."""
    return "\n\n".join(("[bold]Examples[/bold]", *(f"[cyan]{line}[/cyan]" for line in lines)))


TableFile = Annotated[
    Path,
    typer.Argument(
        help="A table: .csv, .csv.gz, .parquet, .feather, .xlsx, .sav, .dta, .sas7bdat, .xpt."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bars, no table.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of all randomness.")]
KnowledgeFile = Annotated[
    Path | None,
    typer.Option(
        "--knowledge",
        help="A .json or .toml file with required edges, forbidden edges and tiers. The consensus "
        "obeys them.",
    ),
]
NetworkDir = Annotated[
    Path | None, typer.Option(help="Folder with more networks, NAME.bif[.gz] or NAME.json[.gz].")
]
SchemaFile = Annotated[
    Path | None,
    typer.Option(
        "--schema",
        help="File with the agreed columns and states. A table with any others is refused.",
    ),
]
LedgerFile = Annotated[
    Path | None,
    typer.Option(
        "--ledger",
        show_default="TABLE.privacy.jsonl",
        help="File in which private learners record what this run spends (see fedbn budget).",
    ),
]
Minutes = Annotated[
    float | None,
    typer.Option(
        min=0.0, show_default="no limit", help="Start no further case after this many minutes."
    ),
]
MinutesOfPart = Annotated[
    float | None,
    typer.Option(
        min=0.0,
        show_default="no limit",
        help="Begin no further case of a part after this many minutes.",
    ),
]
OnlyNetworks = Annotated[
    list[str] | None, typer.Option(help="Only cases of this network; may be repeated.")
]
SmallCases = Annotated[bool, typer.Option("--smoke", help="Small cases, one seed.")]
RayAddress = Annotated[
    str | None,
    typer.Option(
        "--ray-address",
        metavar="HOST:PORT",
        show_default="this machine",
        help="Run on this Ray cluster (auto: the one that this machine belongs to).",
    ),
]
StudyFolder = Annotated[
    Path, typer.Option("--out", "-o", help="Folder of rows, figures and report.")
]
LEARNING, TABLES = "Learning", "Tables"
SIMULATED = {"share-diagnostics": True, "parameters": "federated"}
"""What `simulate` wants unless it is told otherwise or the learner is private."""


def require_known(option: str, names: Collection[str] | None, known: Collection[str]) -> None:
    """Raise ConfigError where one of the names given for an option is none of the known ones."""
    for name in names or ():
        if name not in known:
            raise ConfigError(f"{option} must be one of {', '.join(known)}, not {name!r}")


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


def learning_settings(*, local: bool) -> list[tuple[str, Setting]]:
    """(panel of the help, setting) of all that a learner takes; `local` ones too, if wanted."""
    from fedbn.federation.plugin_keys import plugin_settings
    from fedbn.learners.settings import LearnerSettings

    return [
        *((LEARNING, each) for each in settings_of(LearnerSettings) if local or not each.local),
        *(
            (f"Of the {of}", replace(each, key=key, flags=()))
            for of, key, each in plugin_settings("learner")
        ),
    ]


def table_settings() -> list[tuple[str, Setting]]:
    """(panel of the help, setting) of all that says how a table is prepared."""
    from fedbn.data.table_settings import TableSettings

    return [(TABLES, each) for each in settings_of(TableSettings)]


_FORM = ("missing", "separator", "decimal", "encoding", "header", "skip-lines", "sheet")


def form_settings() -> list[tuple[str, Setting]]:
    """Those of them that say how a file is read."""
    return [(panel, each) for panel, each in table_settings() if each.key in _FORM]


_CONSENSUS = (
    "fusion",
    "fusion-settings",
    "reading",
    "robust",
    "choose",
    "groups",
    "groups-file",
    "count-rounds",
    "site-column",
    "aggregation",
    "variables",
    "min-sites",
    "min-judges",
    "min-alike",
    "look-ahead",
    "max-treewidth",
)


def simulation_settings() -> list[tuple[str, Setting]]:
    """(panel of the help, setting) of all that `simulate` takes."""
    from fedbn.federation.plugin_keys import plugin_settings
    from fedbn.federation.settings import (
        ConsensusSettings,
        DataSettings,
        Experiment,
        OutputSettings,
        RoundSettings,
    )

    own = {each.key: each for each in settings_of(Experiment)}
    consensus = {each.key: each for each in settings_of(ConsensusSettings)}
    rounds = {each.key: each for each in settings_of(RoundSettings)}
    shown = f"{SIMULATED['parameters']}, with a private learner none"
    rounds["parameters"] = replace(rounds["parameters"], shown=shown)
    return [
        *(("Data", each) for each in settings_of(DataSettings)),
        *table_settings(),
        *learning_settings(local=False),
        *(("Consensus", consensus[key]) for key in _CONSENSUS),
        *(("Consensus", rounds[key]) for key in ("rounds-limit", "parameters")),
        *(
            (f"Of the {of}", replace(each, key=key, flags=()))
            for of, key, each in plugin_settings("fusion")
        ),
        *(("Run", own[key]) for key in ("engine", "processes", "seed")),
        *(("Run", each) for each in settings_of(OutputSettings) if each.key == "resume"),
    ]


def with_settings(
    settings: Callable[[], Iterable[tuple[str | None, Setting]]],
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A decorator: an option for every setting in place of the command's parameter `given`.

    The command is called with `given`: key -> value, None where the option is not given.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        listed = [(each, _option(each, panel)) for panel, each in settings()]
        keys = {_parameter(each.key): each.key for each, _ in listed}
        options = [
            inspect.Parameter(
                _parameter(each.key),
                inspect.Parameter.KEYWORD_ONLY,
                default=None,
                annotation=annotation,
            )
            for each, annotation in listed
        ]
        signature = inspect.signature(command, eval_str=True)
        parameters = _replace(signature.parameters, options)

        @functools.wraps(command)
        def with_options(**values: Any) -> None:
            given = {key: _plain(values.pop(name)) for name, key in keys.items()}
            command(**values, given=given)

        replaced = signature.replace(parameters=parameters)
        with_options.__signature__ = replaced  # type: ignore[attr-defined]
        with_options.__annotations__ = {each.name: each.annotation for each in parameters}
        return with_options

    return decorate


def _replace(
    parameters: Mapping[str, inspect.Parameter], options: list[inspect.Parameter]
) -> list[inspect.Parameter]:
    """The parameters of a command, by keyword only, with `options` in place of `given`."""
    return [
        each.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for parameter in parameters.values()
        for each in (options if parameter.name == "given" else [parameter])
    ]


def _parameter(key: str) -> str:
    return key.replace("-", "_")


def _plain(value: Any) -> Any:
    """None for an option that is not given; a list may come empty."""
    return None if value == [] else value


def _option(each: Setting, panel: str | None) -> Any:
    """The annotation of a command's parameter for a setting."""
    kinds = get_args(each.type) if get_origin(each.type) in (Union, types.UnionType) else ()
    kind = next((kind for kind in kinds if kind is not type(None)), each.type)
    if str in kinds:
        kind = str
    flags = each.flags or (f"--{each.key}",)
    help_text = each.help + (_users(each) if panel == LEARNING else "")
    shown: str | bool = each.shown or (False if each.default is None else str(each.default))
    if kind is bool:
        option = typer.Option(*flags, help=help_text, show_default=False, rich_help_panel=panel)
        return Annotated[bool | None, option]
    option = typer.Option(*flags, help=help_text, show_default=shown, rich_help_panel=panel)
    if get_origin(kind) is tuple:
        return Annotated[list[str] | None, option]
    return Annotated[kind | None, option]


def _users(each: Setting) -> str:
    """Which learners a learner's setting is for, where it is not for all."""
    from fedbn.learners.table import users_of

    users = users_of(each.name)
    return f" For {', '.join(users)}." if users else ""


def with_quiet(command: Callable[..., None]) -> Callable[..., None]:
    """The command with `--quiet`: it prints nothing; warnings, errors and --json come as ever."""
    signature = inspect.signature(command, eval_str=True)
    quiet = inspect.Parameter(
        "quiet", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Quiet
    )
    parameters = [*signature.parameters.values(), quiet]

    @functools.wraps(command)
    def quietly(*arguments: Any, quiet: bool = False, **values: Any) -> None:
        if not quiet or values.get("as_json"):
            command(*arguments, **values)
            return
        with redirect_stdout(io.StringIO()):
            command(*arguments, **values)

    quietly.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    quietly.__annotations__ = {each.name: each.annotation for each in parameters}
    return quietly
