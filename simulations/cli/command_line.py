"""The command `fedbn`: many private tables in, one consensus network out.

Only the module of the command that was asked for is loaded, none for the version, and commands
import what they need when they run. With `--json`, standard output is exactly one JSON object whose
keys are stable; everything else goes to standard error. Exit status: 0, or 1 after an error of
fedbn (one line), or 2 after wrong usage.
"""

from __future__ import annotations

import atexit
import gc
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from fedbn import __version__
from fedbn.errors import FedbnError, MissingExtraError
from fedbn.extras import EXTRAS, missing
from simulations.cli.command_table import COMMANDS, Command
from simulations.options import SeveralValues, examples, with_quiet
from simulations.progress import begin_command


def make_app(commands: Sequence[Command] = COMMANDS) -> typer.Typer:
    """The Typer app of these commands."""
    app = typer.Typer(
        name="fedbn",
        help="Federated learning of Bayesian-network structure: every table stays where it is, "
        "structures, column names and states leave a site, and counts and sums only if its policy "
        "allows them; a server fuses the structures into one consensus network.",
        epilog=examples(
            "fedbn simulate --network alarm --clients 10 --rows 5000",
            "fedbn simulate --sites a.csv b.csv c.csv --score bic",
            "fedbn learn patients.csv --json",
            "fedbn fuse north.json south.bif east.json",
        ),
        no_args_is_help=True,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_options)
    for command in commands:
        _add(app, command)
    return app


def main(arguments: list[str] | None = None) -> None:
    """Run the command and exit; an error of fedbn is one line on standard error and status 1."""
    from simulations.terminal import show_error, show_warnings

    atexit.register(gc.freeze)  # Python looks for no garbage when the process ends
    asked = sys.argv[1:2] if arguments is None else arguments[:1]
    found = [command for command in COMMANDS if [command.typed] == asked]
    if not found and asked != ["--version"]:
        found = [*COMMANDS]
    try:
        with show_warnings():
            gc.disable()  # nor while it loads, nor ever among what is loaded
            app = make_app(found)
            gc.freeze()
            gc.enable()
            app(args=arguments)
    except (FedbnError, MemoryError) as error:
        show_error(error)
        sys.exit(1)
    except ModuleNotFoundError as error:
        module = (error.name or "").partition(".")[0]
        if module not in EXTRAS:
            raise
        show_error(missing(module))
        sys.exit(1)


def _show_version(asked: bool) -> None:
    if asked:
        print(f"fedbn {__version__}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    begin_command()


def _add(app: typer.Typer, command: Command) -> None:
    if not command.is_installed:
        _say_what_brings(app, command)
        return
    loaded = command.load()
    if isinstance(loaded, typer.Typer):
        app.add_typer(loaded, rich_help_panel=command.panel)
        return
    app.command(
        command.typed,
        cls=SeveralValues if command.several else None,
        epilog=examples(*command.examples) if command.examples else None,
        rich_help_panel=command.panel,
    )(with_quiet(loaded) if command.quiet else loaded)


def _say_what_brings(app: typer.Typer, command: Command) -> None:
    """In place of a command of another distribution: how to get it."""
    how = f"in a checkout of fedbn's repository, run pip install ./{command.distribution}"

    def missing() -> None:
        raise MissingExtraError(f"fedbn {command.typed} is not installed: {how}")

    app.command(
        command.typed,
        help=f"Not installed: {how}.",
        rich_help_panel=command.panel,
        context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
    )(missing)
