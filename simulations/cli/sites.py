"""What is typed at a site before it is deployed: `fedbn site new` and `fedbn site prepare`."""

from __future__ import annotations

import typer

from simulations.commands.site import new, prepare
from simulations.options import examples, with_quiet

__all__ = ["site"]

site = typer.Typer(
    name="site",
    help="A site's decisions in one file, and its table, read once under them.",
    no_args_is_help=True,
)
site.command(
    epilog=examples(
        "fedbn site new north.csv",
        "fedbn site new north.csv --schema states.json --allow counts",
        "fedbn site new export.csv --separator ';' --decimal , --missing NA",
    )
)(with_quiet(new))
site.command(
    epilog=examples("fedbn site prepare north.toml", "fedbn site prepare north.toml --replace")
)(with_quiet(prepare))
