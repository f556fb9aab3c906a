"""What is typed at a site: `fedbn site new` and `prepare`; `answer` and `forget` by courier."""

from __future__ import annotations

import typer

from simulations.commands.site import new, prepare
from simulations.deployment.courier_commands import answer_request, forget_run
from simulations.options import examples, with_quiet

site = typer.Typer(
    name="site",
    help="Write a site's file, prepare its table, and answer requests that arrive as files.",
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
site.command(
    "answer",
    epilog=examples(
        "fedbn site answer north-0001.request.fedbn --site north.toml",
        "fedbn site answer request.fedbn --out reply.fedbn",
    ),
)(with_quiet(answer_request))
site.command("forget", epilog=examples("fedbn site forget 1318405928433920513 --site north.toml"))(
    with_quiet(forget_run)
)
