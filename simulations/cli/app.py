"""The command `fedbn`: many private tables in, one consensus network out.

Commands import what they need when they run, so that `fedbn --help` is fast. With `--json`,
standard output is exactly one JSON object whose keys are stable; everything else goes to standard
error. Exit status: 0, or 1 after an error of fedbn (one line), or 2 after wrong usage.
"""

from __future__ import annotations

import atexit
import copy
import gc
import sys
from typing import Annotated

import typer
from typer.main import get_command_name

from fedbn import __version__
from fedbn.errors import FedbnError
from simulations.cli.credible import credible
from simulations.cli.federations import report, simulate
from simulations.cli.networks import networks, sample
from simulations.cli.sites import site
from simulations.cli.structures import compare, fuse
from simulations.cli.studies import reproduce
from simulations.cli.tables import audit, learn
from simulations.commands.bootstrap import bootstrap
from simulations.commands.budget import budget
from simulations.commands.parameters import parameters
from simulations.commands.query import query
from simulations.commands.tables import check, inspect, schema
from simulations.deployment.commands import (
    app_folder,
    deploy_demo,
    disclosures,
    executor,
    flower_run,
    keys,
    update,
)
from simulations.options import SeveralValues, examples, with_quiet
from simulations.progress import begin_command
from simulations.sweeps.sweep import sweep

__all__ = ["app", "main"]

SITES, STUDIES = "Sites and servers", "Studies"

app = typer.Typer(
    name="fedbn",
    help="Federated learning of Bayesian-network structure: every table stays where it is, "
    "only structures, column names and states leave a site, and a server fuses the structures into "
    "one consensus network.",
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


def _show_version(asked: bool) -> None:
    if asked:
        print(f"fedbn {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    begin_command()


def _with_only(asked: list[str]) -> typer.Typer:
    """The app with just the command that is asked for, if it has that one.

    To make the options of all commands takes longer than to learn from a small table.
    """
    chosen = copy.copy(app)
    chosen.registered_groups = []
    chosen.registered_commands = [
        command
        for command in app.registered_commands
        if command.callback
        and [command.name or get_command_name(command.callback.__name__)] == asked
    ]
    return chosen if chosen.registered_commands else app


def main(arguments: list[str] | None = None) -> None:
    """Run the command and exit; an error of fedbn is one line on standard error and status 1."""
    from simulations.terminal import show_error, show_warnings

    atexit.register(gc.freeze)  # Python looks for no garbage when the process ends
    try:
        with show_warnings():
            _with_only(sys.argv[1:2] if arguments is None else arguments[:1])(args=arguments)
    except (FedbnError, MemoryError) as error:
        show_error(error)
        sys.exit(1)


app.add_typer(reproduce, rich_help_panel=STUDIES)
app.command(
    epilog=examples(
        "fedbn simulate --network asia --clients 5 --rows 1000",
        "fedbn simulate --network child --partition dirichlet-latent --alpha 0.3",
        "fedbn simulate --network child --rows 500 --row-weight ladder --choose counts",
        "fedbn simulate --table patients.csv --partition column --partition-column hospital",
        "fedbn simulate --sites a.csv b.csv c.csv --schema states.json --out results/three",
        "fedbn simulate --network alarm --aggregation secure-sums",
        "fedbn simulate --config experiment.toml --engine in-process",
    )
)(simulate)
app.command(
    rich_help_panel=STUDIES,
    epilog=examples(
        "fedbn sweep study.toml --jobs 2",
        "fedbn sweep study.toml --list",
        "fedbn sweep study.toml --minutes 10 --out results/study",
        "fedbn sweep study.toml --ray-address 10.0.0.1:6379",
        "fedbn sweep study.toml --slurm study.sh --slurm-tasks 20",
    ),
)(sweep)
app.command(
    epilog=examples(
        "fedbn learn patients.csv",
        "fedbn learn patients.csv --score bic --out patients.graphml",
        "fedbn learn measurements.parquet --score gaussian-bic --json",
        "fedbn learn patients.csv --knowledge known.toml --turning --repeat",
        "fedbn learn patients.csv --learner dp-ges --epsilon 1 --schema states.json",
    )
)(learn)
app.command(
    epilog=examples(
        "fedbn report results/alarm",
        "fedbn report results/alarm --public --out alarm.html",
    )
)(report)
app.command(
    rich_help_panel=SITES,
    epilog=examples(
        "fedbn audit patients.csv --learner ges --game flips",
        "fedbn audit asia --rows 200 --learner credible --game shadow --json",
        "fedbn audit asia --rows 60 --learner dp-ges --epsilon 1 --game epsilon",
    ),
)(audit)
app.command(
    epilog=examples(
        "fedbn fuse north.json south.bif east.json",
        "fedbn fuse a.csv b.csv --nodes age,smoking,cancer --weights 2,1",
        "fedbn fuse alarm.r100.txt.gz --first 20 --json",
        "fedbn fuse a.json b.json --steps --json",
        "fedbn fuse a.json b.json c.json --robust clip --polish --explain",
        "fedbn fuse a.json b.json c.json --method vote",
        "fedbn fuse a.json b.json c.json --gold true.bif --out results/fused",
    )
)(fuse)
app.command(
    epilog=examples(
        "fedbn sample alarm --rows 5000 --out alarm.csv",
        "fedbn sample my-network.bif --rows 100 --seed 7",
    )
)(sample)
app.command(
    epilog=examples(
        "fedbn compare consensus.json alarm",
        "fedbn compare learned.csv true.bif --nodes age,smoking,cancer --json",
    )
)(compare)
app.command(epilog=examples("fedbn networks", "fedbn networks --network-dir bifs --json"))(networks)
app.command(
    epilog=examples(
        "fedbn credible patients.csv --bf 20 --score bic",
        "fedbn credible patients.csv --count --json",
        "fedbn credible patients.csv --list 10 --per-class --out edges.csv",
    )
)(credible)
app.command(
    epilog=examples(
        "fedbn bootstrap patients.csv --replicates 200 --workers 2 --strengths strengths.csv",
        "fedbn bootstrap patients.csv --threshold 0.85 --out averaged.json",
    )
)(bootstrap)
app.command(
    epilog=examples(
        "fedbn update results/sites --remove north",
        "fedbn update results/sites --add west.json --out results/with-west",
    )
)(update)
app.command(
    epilog=examples(
        "fedbn inspect patients.csv", "fedbn inspect export.csv --separator ';' --decimal , --json"
    )
)(with_quiet(inspect))
app.command(
    epilog=examples(
        "fedbn schema north.csv south.csv --out states.json",
        "fedbn schema north.csv south.csv --discretise age:4 --leave-out id --out states.json",
    )
)(with_quiet(schema))
app.command(
    rich_help_panel=SITES,
    epilog=examples("fedbn check north.toml --schema states.json", "fedbn check north.csv --json"),
)(with_quiet(check))
app.command(
    cls=SeveralValues,
    epilog=examples("fedbn parameters results/sites --sites north.csv south.csv"),
)(with_quiet(parameters))
app.command(
    cls=SeveralValues,
    epilog=examples(
        "fedbn query results/alarm --ask HYPOVOLEMIA LVFAILURE --given HRBP=HIGH CVP=LOW",
        "fedbn query network.bif --all --given smoke=yes --json",
        "fedbn query results/alarm --ask CVP --given-file cases.csv --out answers.csv",
        "fedbn query a.json b.json --weights 3,1 --ask CVP",
        "fedbn query results/alarm --most-probable --given CVP=LOW",
    ),
)(with_quiet(query))
app.command(
    rich_help_panel=SITES,
    epilog=examples(
        "fedbn keys keys --host flower.example.org --host 192.0.2.7 --site north --site south",
        "fedbn keys keys --site west",
    ),
)(with_quiet(keys))
app.add_typer(site, rich_help_panel=SITES)
app.command(
    "app",
    rich_help_panel=SITES,
    epilog=examples(
        "fedbn app run --set out-dir=results/deployed --set rounds-limit=2",
        "fedbn app run --config run.toml",
    ),
)(with_quiet(app_folder))
app.command(
    "flower-run",
    rich_help_panel=SITES,
    epilog=examples(
        "fedbn flower-run .", "fedbn flower-run . --set clients=5 --set learner=xges --nodes 5"
    ),
)(with_quiet(flower_run))
app.command(
    rich_help_panel=SITES,
    epilog=examples(
        "fedbn executor north.toml --supernode 127.0.0.1:9601 --secret keys/north.executor.key"
    ),
)(with_quiet(executor))
app.command(
    rich_help_panel=SITES, epilog=examples("fedbn disclosures north.csv.disclosures.jsonl")
)(with_quiet(disclosures))
app.command(
    rich_help_panel=SITES,
    epilog=examples(
        "fedbn budget patients.csv.privacy.jsonl",
        "fedbn budget patients.csv.privacy.jsonl --max-epsilon 3 --json",
    ),
)(with_quiet(budget))
app.command(
    rich_help_panel=SITES,
    epilog=examples("fedbn deploy-demo", "fedbn deploy-demo --insecure --json"),
)(deploy_demo)
