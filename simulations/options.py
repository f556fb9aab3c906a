"""Options that several commands have, each said once."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = [
    "LEARNING",
    "Json",
    "Missing",
    "NetworkDir",
    "Quiet",
    "SchemaFile",
    "Seed",
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
LEARNING_OPTIONS: Mapping[str, Any] = {
    "learner": Annotated[
        str | None,
        typer.Option(
            "--learner",
            show_default="ges",
            rich_help_panel=LEARNING,
            help="One structure: ges, xges0, hc, cg-dca, ordering, optimal (with a proof). "
            "Several, weighted: bootstrap, credible.",
        ),
    ],
    "score": Annotated[
        str | None,
        typer.Option(
            show_default="bdeu",
            rich_help_panel=LEARNING,
            help="bdeu, bic, aic (columns are categories); gaussian-bic, bge (columns are "
            "numbers).",
        ),
    ],
    "ess": Annotated[
        float | None,
        typer.Option(
            show_default="1", rich_help_panel=LEARNING, help="Equivalent sample size of BDeu."
        ),
    ],
    "max-parents": Annotated[
        int | None,
        typer.Option(show_default="no limit", rich_help_panel=LEARNING, help="In-degree."),
    ],
    "max-t": Annotated[
        int | None,
        typer.Option(
            "--max-t",
            show_default="no limit",
            rich_help_panel=LEARNING,
            help="ges, xges0: neighbours that one Insert may direct.",
        ),
    ],
    "memory-mb": Annotated[
        float | None,
        typer.Option(
            show_default="512", rich_help_panel=LEARNING, help="MB for stored scores and bitmaps."
        ),
    ],
    "knowledge": Annotated[
        Path | None,
        typer.Option(
            "--knowledge",
            rich_help_panel=LEARNING,
            help="ges, xges0, hc, bootstrap: a .json or .toml file with required and forbidden "
            "edges and tiers.",
        ),
    ],
    "turning": Annotated[
        bool | None,
        typer.Option("--turning", rich_help_panel=LEARNING, help="GES with its turning phase."),
    ],
    "repeat": Annotated[
        bool | None,
        typer.Option("--repeat", rich_help_panel=LEARNING, help="GES until no phase improves."),
    ],
    "random-ties": Annotated[
        bool | None,
        typer.Option(
            "--random-ties", rich_help_panel=LEARNING, help="Ties by --seed instead of by name."
        ),
    ],
    "bf": Annotated[
        float | None,
        typer.Option(
            "--bf",
            show_default="20",
            rich_help_panel=LEARNING,
            help="credible: structures within this Bayes factor of the best.",
        ),
    ],
    "max-dags": Annotated[
        int | None,
        typer.Option(
            show_default="20",
            rich_help_panel=LEARNING,
            help="credible, bootstrap: DAGs sent at most.",
        ),
    ],
    "replicates": Annotated[
        int | None,
        typer.Option(
            show_default="100", rich_help_panel=LEARNING, help="bootstrap: resampled tables."
        ),
    ],
    "learner-seconds": Annotated[
        float | None,
        typer.Option(
            "--learner-seconds",
            "--seconds",
            show_default="no limit",
            rich_help_panel=LEARNING,
            help="Time per search.",
        ),
    ],
    "pricing": Annotated[
        str | None,
        typer.Option(
            show_default="dca",
            rich_help_panel=LEARNING,
            help="cg-dca: dca, dca-permutations, dca-greedy, local-search (any score).",
        ),
    ],
    "inner": Annotated[
        str | None,
        typer.Option(
            show_default="minimum-norm", rich_help_panel=LEARNING, help="cg-dca: or kelley."
        ),
    ],
    "start-point": Annotated[
        str | None,
        typer.Option(
            "--start",
            show_default="hybrid",
            rich_help_panel=LEARNING,
            help="cg-dca: where DCA begins: hybrid, random, warm.",
        ),
    ],
    "search-memory-mb": Annotated[
        float | None,
        typer.Option(
            "--memory",
            show_default="what is free",
            rich_help_panel=LEARNING,
            help="cg-dca, optimal, ordering: MB that the search may hold.",
        ),
    ],
}
"""Setting of the run config -> its option, in the order of `--help`."""


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
