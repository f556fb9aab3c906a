"""The command `fedbn`: what can be typed. What is done then is in `simulations/commands`.

`app`, the Typer app of all commands, is made when it is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulations.cli.command_line import main, make_app

if TYPE_CHECKING:
    import typer

    app: typer.Typer

__all__ = ["app", "main"]


def __getattr__(name: str) -> typer.Typer:
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = whole = make_app()
    return whole
