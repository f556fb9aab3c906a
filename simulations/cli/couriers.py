"""`fedbn courier`: what is typed at the server of a run whose messages are files."""

from __future__ import annotations

import typer

from simulations.deployment.courier_commands import go_on_with, start, status_of
from simulations.options import examples, with_quiet

courier = typer.Typer(
    name="courier",
    help="Run a federation with sites that have no network: requests and replies are signed files, "
    "which people carry. At a site, use fedbn site answer.",
    no_args_is_help=True,
)
courier.command(
    epilog=examples(
        "fedbn courier start run.toml --dir run --keys keys",
        "fedbn courier start run.toml --dir run --keys keys --set aggregation=moral-votes",
    )
)(with_quiet(start))
courier.command(
    "continue",
    epilog=examples(
        "fedbn courier continue run",
        "fedbn courier continue run north-0002.reply.fedbn",
        "fedbn courier continue run --without south",
    ),
)(with_quiet(go_on_with))
courier.command("status", epilog=examples("fedbn courier status run"))(with_quiet(status_of))
