"""The command `fedbn`: many private tables in, one consensus network out.

Commands import what they need when they run, so that `fedbn --help` is fast. With `--json`,
standard output is exactly one JSON object whose keys are stable; everything else goes to standard
error. Exit status: 0, or 1 after an error of fedbn (one line), or 2 after wrong usage.
"""

from __future__ import annotations

import copy
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.main import get_command_name

from fedbn import __version__
from fedbn.errors import ConfigError, FedbnError
from fedbn.wording import count_of
from simulations.cg_dca.reproduce import reproduce_cg_dca
from simulations.commands.bootstrap import bootstrap
from simulations.commands.budget import budget
from simulations.commands.credible import credible
from simulations.commands.parameters import parameters
from simulations.commands.query import query
from simulations.commands.tables import check, inspect, schema
from simulations.commands.warmup import warmup
from simulations.credible_bn.reproduce import credible as reproduce_credible
from simulations.deployment.commands import (
    app_folder,
    deploy_demo,
    disclosures,
    executor,
    keys,
    update,
)
from simulations.mcbnc_aaai26.reproduce import reproduce_mcbnc
from simulations.options import (
    LEARNING,
    Json,
    LedgerFile,
    NetworkDir,
    Quiet,
    SchemaFile,
    Seed,
    SeveralValues,
    examples,
    learning_settings,
    simulation_settings,
    table_settings,
    with_quiet,
    with_settings,
)
from simulations.pooling.reproduce import reproduce_pooling
from simulations.privacy.reproduce import reproduce_privacy
from simulations.progress import begin_command, stages, starting

if TYPE_CHECKING:
    from fedbn.federation.settings import Experiment


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


SIMULATED = {"share-diagnostics": True, "parameters": "federated"}
"""What `simulate` wants unless it is told otherwise."""

SITES, STUDIES = "Sites and servers", "Studies"
reproduce = typer.Typer(
    name="reproduce",
    help="Repeat the tables of a paper, its figures beside ours. Long: --smoke takes minutes; a "
    "study that was stopped goes on where it was.",
    no_args_is_help=True,
)
reproduce.command("credible")(reproduce_credible)
app.add_typer(reproduce, rich_help_panel=STUDIES)
reproduce.command(
    "mcbnc",
    epilog=examples(
        "fedbn reproduce mcbnc --smoke --out results/mcbnc-smoke",
        "fedbn reproduce mcbnc --part grid --network andes --r 50 --repetitions 3 --minutes 10",
    ),
)(reproduce_mcbnc)
reproduce.command(
    "cg-dca",
    epilog=examples(
        "fedbn reproduce cg-dca --smoke --out results/cg-dca-smoke",
        "fedbn reproduce cg-dca --part gaussian --variables 15 --instances 3 --minutes 10",
    ),
)(reproduce_cg_dca)
reproduce.command(
    "privacy",
    epilog=examples(
        "fedbn reproduce privacy --smoke --out results/privacy-smoke",
        "fedbn reproduce privacy --part audit --out results/privacy",
    ),
)(reproduce_privacy)
reproduce.command(
    "pooling",
    epilog=examples(
        "fedbn reproduce pooling --smoke --out results/pooling-smoke",
        "fedbn reproduce pooling --part differing --seeds 3 --out results/pooling",
    ),
)(reproduce_pooling)


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

    try:
        with show_warnings():
            _with_only(sys.argv[1:2] if arguments is None else arguments[:1])(args=arguments)
    except (FedbnError, MemoryError) as error:
        show_error(error)
        sys.exit(1)


# --- simulate -----------------------------------------------------------------------------------


@app.command(
    epilog=examples(
        "fedbn simulate --network asia --clients 5 --rows 1000",
        "fedbn simulate --network child --partition dirichlet-latent --alpha 0.3",
        "fedbn simulate --network child --rows 500 --row-weight ladder --choose counts",
        "fedbn simulate --table patients.csv --partition column --partition-column hospital",
        "fedbn simulate --sites a.csv b.csv c.csv --schema states.json --out results/three",
        "fedbn simulate --network alarm --aggregation secure-sums",
        "fedbn simulate --config experiment.toml --engine in-process",
    )
)
@with_settings(simulation_settings)
def simulate(
    more_sites: Annotated[list[str] | None, typer.Argument(hidden=True, metavar="SITE...")] = None,
    *,
    given: Mapping[str, Any],
    gold: Annotated[
        Path | None, typer.Option(help="The true structure, to compare with (a DAG file).")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(show_default="results/NAME", help="Results folder; replaced atomically."),
    ] = None,
    ledger: LedgerFile = None,
    config: Annotated[
        Path | None, typer.Option(help="A TOML file with settings; options here override it.")
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option("--set", help="KEY=VALUE: any setting of the run config; may be repeated."),
    ] = None,
    pooled: Annotated[
        bool,
        typer.Option(
            "--pooled/--no-pooled",
            help="Also learn from all rows together, which only a simulation can, to compare.",
        ),
    ] = True,
    tables: Annotated[
        bool,
        typer.Option(
            "--tables/--no-tables",
            help="Write the consensus' parameters, too: network.json, consensus.bif, the report.",
        ),
    ] = True,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Simulate a federation: tables or a network in, the consensus and its report out.

    Every client learns from its own table, the server fuses the structures. The result is a folder:
    the consensus as CSV, JSON, GraphML, DOT and BIF, tables, figures.
    """
    if more_sites and not given["sites"]:
        raise typer.BadParameter(f"unexpected argument {more_sites[0]!r}; see --help")
    words = "reading settings, loading the learners"
    with starting(words, not (quiet or as_json), at_once=True):
        from fedbn.federation.private_runs import guarantee_of
        from simulations.commands.simulate import run_and_report
        from simulations.experiment import experiment_from
        from simulations.inputs import set_options

        sites = [*given["sites"], *(more_sites or ())] if given["sites"] else None
        options = {**given, "sites": sites, **set_options(setting or [])}
        experiment = experiment_from(options, config=config)
        if guarantee_of(experiment.learner) is None:
            experiment = experiment_from(options, config=config, base=SIMULATED)
        _check_source(experiment, rows=given["rows"], clients=given["clients"])
    run_and_report(
        experiment,
        gold=gold,
        out=out,
        ledger=ledger,
        as_json=as_json,
        quiet=quiet,
        pooled=pooled,
        tables=tables,
    )


def _check_source(experiment: Experiment, *, rows: int | None, clients: int | None) -> None:
    """Refuse a missing source, and options that the source makes meaningless."""
    if not (
        experiment.data.network
        or experiment.data.table
        or experiment.data.sites
        or experiment.data.sites_dir
    ):
        raise ConfigError("say where the data come from: --network, --table or --sites")
    if rows is not None and experiment.data.network is None:
        raise ConfigError("--rows is for --network: tables are used whole")
    if clients is not None and (experiment.data.sites or experiment.data.sites_dir):
        raise ConfigError("--clients is for --network and --table: with --sites, each is a client")


# --- learn --------------------------------------------------------------------------------------


@app.command(
    epilog=examples(
        "fedbn learn patients.csv",
        "fedbn learn patients.csv --score bic --out patients.graphml",
        "fedbn learn measurements.parquet --score gaussian-bic --json",
        "fedbn learn patients.csv --knowledge known.toml --turning --repeat",
        "fedbn learn patients.csv --learner dp-ges --epsilon 1 --schema states.json",
    )
)
@with_settings(lambda: [*table_settings(), *learning_settings(local=True)])
def learn(
    table: Annotated[Path, typer.Argument(help="A table: .csv, .csv.gz or .parquet.")],
    *,
    schema: SchemaFile = None,
    given: Mapping[str, Any],
    start_dag: Annotated[
        Path | None,
        typer.Option(
            rich_help_panel=LEARNING,
            help="A DAG file: where ges, xges0, xges, ils and hc begin instead of the empty graph.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write the DAG to a .csv, .json, .graphml or .dot file.")
    ] = None,
    as_class: Annotated[
        bool,
        typer.Option(
            "--class",
            help="Print or write the equivalence class, which is all that is learned: edges whose "
            "direction is open are undirected.",
        ),
    ] = False,
    ledger: LedgerFile = None,
    seed: Seed = 1,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Learn a structure from one table; print its edges, parent and child, as CSV.

    A file of background knowledge is JSON or TOML with any of: required = [["a", "b"]] and
    forbidden = [["b", "a"]], edges from parent to child; tiers = [["a"], ["b", "c"]], groups of
    columns from first to last. The search never breaks it; knowledge that contradicts itself is
    an error that names the edges.

    The private learners (dp-climb, dp-ges, dp-moments) give a structure that is
    (ε, δ)-differentially private per row, one row added or removed. Before they draw, what they
    spend is written to the ledger.
    """
    with starting("loading the learners", not (quiet or as_json)):
        from simulations.commands.learn import learn_and_report

    learn_and_report(
        table,
        given,
        schema=schema,
        start=start_dag,
        out=out,
        as_class=as_class,
        ledger=ledger,
        seed=seed,
        as_json=as_json,
        quiet=quiet,
    )


# --- report -------------------------------------------------------------------------------------


@app.command(
    epilog=examples(
        "fedbn report results/alarm",
        "fedbn report results/alarm --public --out alarm.html",
    )
)
@with_quiet
def report(
    folder: Annotated[Path, typer.Argument(help="A results folder.")],
    out: Annotated[
        Path | None, typer.Option(show_default="FOLDER/report.html", help="The file to write.")
    ] = None,
    public: Annotated[
        bool,
        typer.Option(
            "--public",
            help="Without sites, and without edges that fewer than three sites have "
            "(FOLDER/report-public.html).",
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Write a run's report as one HTML file, which asks nothing of any other machine.

    Every run leaves report.html in its folder; this makes it anew, or the one for the public.
    """
    from fedbn.results.page.files import write_report
    from simulations.terminal import print_json

    file = write_report(folder, out, public=public)
    if as_json:
        print_json({"report": str(file)})
    else:
        print(file)


# --- audit --------------------------------------------------------------------------------------


@app.command(
    rich_help_panel=SITES,
    epilog=examples(
        "fedbn audit patients.csv --learner ges --game flips",
        "fedbn audit asia --rows 200 --learner credible --game shadow --json",
        "fedbn audit asia --rows 60 --learner dp-ges --epsilon 1 --game epsilon",
    ),
)
@with_settings(lambda: [*table_settings(), *learning_settings(local=True)])
@with_quiet
def audit(
    source: Annotated[str, typer.Argument(help="A table, or a network to sample from.")],
    *,
    game: Annotated[
        str,
        typer.Option(
            help="flips (the adversary knows all rows but one), shadow (it knows the population), "
            "canary (a row that stands out), epsilon (is a private learner what it claims), "
            "reidentify (a second run of the same sites)."
        ),
    ] = "flips",
    given: Mapping[str, Any],
    rows: Annotated[
        int | None, typer.Option(min=2, show_default="1000", help="Rows, of a network.")
    ] = None,
    schema: SchemaFile = None,
    removals: Annotated[
        int, typer.Option(min=1, help="Rows removed, one at a time: flips, epsilon.")
    ] = 100,
    targets: Annotated[int, typer.Option(min=1, help="Target rows: shadow, canary.")] = 20,
    shadows: Annotated[
        int, typer.Option(min=4, help="Tables with and without a target: shadow, canary.")
    ] = 40,
    sites: Annotated[int, typer.Option(min=2, help="Sites: reidentify.")] = 10,
    seed: Seed = 1,
    as_json: Json = False,
) -> None:
    """Attack what a learner lets leave, and print what the attack finds with its sample sizes.

    A good attack shows a leak; a failed one proves nothing. Only a private learner (dp-climb,
    dp-ges, dp-moments) has a bound, and the game epsilon tries to refute it.
    """
    from simulations.commands.audit import Game, GameSizes, audit_and_report

    if game not in list(Game):
        raise ConfigError(f"game must be one of {', '.join(Game)}, not {game!r}")
    audit_and_report(
        source,
        given,
        game=Game(game),
        rows=rows,
        schema=schema,
        sizes=GameSizes(removals, targets, shadows, sites),
        seed=seed,
        as_json=as_json,
    )


# --- fuse ---------------------------------------------------------------------------------------


@app.command(
    epilog=examples(
        "fedbn fuse north.json south.bif east.json",
        "fedbn fuse a.csv b.csv --nodes age,smoking,cancer --weights 2,1",
        "fedbn fuse alarm.r100.txt.gz --first 20 --json",
        "fedbn fuse a.json b.json --steps --json",
        "fedbn fuse a.json b.json c.json --robust clip --polish --explain",
        "fedbn fuse a.json b.json c.json --method vote",
        "fedbn fuse a.json b.json c.json --gold true.bif --out results/fused",
    )
)
def fuse(
    files: Annotated[
        list[Path],
        typer.Argument(help="DAGs: .json, .bif, .csv (with --nodes) or several in one .txt; .gz."),
    ],
    nodes: Annotated[
        str | None, typer.Option(help="The variables of edge lists: a,b,c or a file with names.")
    ] = None,
    first: Annotated[
        int | None, typer.Option(min=1, help="Use the first R DAGs only.", metavar="R")
    ] = None,
    weights: Annotated[
        str | None, typer.Option(help="One positive number per DAG, with commas: 2,1,1/3.")
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            help="mcbnc, or to compare with: union (all of the I-maps' edges), intersection, vote "
            "(edges that enough inputs have), median (local optimum of the mean SMHD), "
            "genetic-union and genetic-inputs (treewidth at most 5).",
        ),
    ] = "mcbnc",
    reading: Annotated[
        str,
        typer.Option(
            help="Which structure of the path at θ: search, refusion, or the better one (best)."
        ),
    ] = "best",
    theta: Annotated[
        str | None,
        typer.Option(
            help="Take the state at this θ (0.5, 2/3): an edge goes if cutting it takes at most θ "
            "edges per input, on average. Without it: the state nearest to the inputs.",
        ),
    ] = None,
    k_max: Annotated[
        int, typer.Option(min=0, help="Largest |H| of a deletion: neighbours turned into children.")
    ] = 10,
    quorum: Annotated[
        int,
        typer.Option(
            min=1,
            help="A fusion has an arc that so many structures have; above 1 it is no union. For "
            "hundreds of structures with rare arcs of their own.",
        ),
    ] = 1,
    seconds: Annotated[
        float | None,
        typer.Option(
            help="Time budget of order, I-maps and deletions; then the best state so far, or the "
            "edge vote of the inputs, marked as incomplete.",
        ),
    ] = 600.0,
    robust: Annotated[
        str,
        typer.Option(
            help="Against hostile inputs: how the cuts of the inputs become one number. mean (the "
            "paper), clip (each counts as at most 1), median; best: the better of mean and clip.",
        ),
    ] = "best",
    polish: Annotated[
        bool,
        typer.Option(
            "--polish", help="Then lower the mean SMHD to the inputs by single-edge changes."
        ),
    ] = False,
    random_ties: Annotated[
        bool, typer.Option("--random-ties", help="Break ties at random (see --seed), not by name.")
    ] = False,
    steps: Annotated[
        bool, typer.Option("--steps", help="Add the order and every deletion (with --json).")
    ] = False,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain",
            help="Say of every pair who has it and when it went, and of every client how far it is "
            "from the consensus. --out writes both as edges.csv and clients.csv.",
        ),
    ] = False,
    gold: Annotated[
        Path | None, typer.Option(help="The true structure, to compare with (a DAG file).")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write a results folder, too.")] = None,
    seed: Seed = 1,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Fuse structures into one consensus (MCBNC), θ chosen after the search.

    The unrestricted fusion has every dependence of every input. From it edges are deleted, the
    least supported first, down to the empty graph; of all states on that path the one nearest to
    the inputs (SMHD) is the consensus, with a bound that no other graph can be below.
    """
    with starting("reading the structures", not (quiet or as_json)):
        from simulations.commands.fuse import fuse_and_report
        from simulations.commands.fuse_options import FuseOptions
        from simulations.inputs import read_inputs

        inputs = read_inputs(files, nodes=nodes, first=first, weights=weights)
    options = FuseOptions(
        method=method,
        reading=reading,
        theta=theta,
        k_max=k_max,
        quorum=quorum,
        seconds=seconds,
        robust=robust,
        polish=polish,
        seed=seed,
        random_ties=random_ties,
        steps=steps,
        explain=explain,
        out=out,
        as_json=as_json,
        quiet=quiet,
        files=tuple(files),
    )
    fuse_and_report(inputs, options, gold)


# --- sample, compare, networks ------------------------------------------------------------------


@app.command(
    epilog=examples(
        "fedbn sample alarm --rows 5000 --out alarm.csv",
        "fedbn sample my-network.bif --rows 100 --seed 7",
    )
)
def sample(
    network: Annotated[str, typer.Argument(help="A network: a name (fedbn networks) or a file.")],
    rows: Annotated[int, typer.Option(min=1, help="Number of rows.")] = 1000,
    out: Annotated[
        Path | None,
        typer.Option(show_default="standard output", help="A .csv, .csv.gz or .parquet file."),
    ] = None,
    network_dir: NetworkDir = None,
    seed: Seed = 1,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Sample a table from a Bayesian network, exactly (forward sampling)."""
    began = time.monotonic()
    if as_json and out is None:
        raise typer.BadParameter("--json needs --out: the table would go to standard output, too")
    with stages(not (quiet or as_json)) as notify:
        notify("reading the network")
        import numpy as np

        from fedbn.data.tables import csv_text, write_table
        from fedbn.networks.catalog import load_network
        from simulations.terminal import print_json

        loaded = load_network(network, network_dir)
        notify(f"sampling {count_of(rows, 'row')}: columns")
        dataset = loaded.sample(rows, np.random.default_rng(seed), progress=notify.count)
        notify(f"writing {count_of(rows, 'row')}")
        text = None
        if out is None:
            text = csv_text(dataset)
        else:
            write_table(dataset, out)
    if text is not None:
        print(text, end="")
    elif as_json:
        print_json({"rows": dataset.n_rows, "columns": list(dataset.names), "out": str(out)})
    elif not quiet:
        words = f"{count_of(dataset.n_rows, 'row')} of {count_of(dataset.n, 'column')} in {out}"
        typer.echo(f"{words}, {time.monotonic() - began:.1f} s in all", err=True)


@app.command(
    epilog=examples(
        "fedbn compare consensus.json alarm",
        "fedbn compare learned.csv true.bif --nodes age,smoking,cancer --json",
    )
)
@with_quiet
def compare(
    structure: Annotated[str, typer.Argument(help="A DAG file, or a network's name.")],
    truth: Annotated[str, typer.Argument(help="What it is compared with: the same.")],
    nodes: Annotated[
        str | None, typer.Option(help="The variables of edge lists: a,b,c or a file with names.")
    ] = None,
    network_dir: NetworkDir = None,
    as_json: Json = False,
) -> None:
    """Compare two structures: SMHD, SHD, precision, recall and F1 against the second."""
    from fedbn.graphs.distances import precision_recall_f1, shd, smhd
    from fedbn.graphs.files import read_nodes
    from simulations.inputs import one_structure
    from simulations.terminal import print_json, print_table, rows_table

    names = None if nodes is None else read_nodes(nodes)
    ours = one_structure(structure, nodes=names, network_dir=network_dir)
    theirs = one_structure(truth, nodes=names, network_dir=network_dir)
    accuracy = precision_recall_f1(ours, theirs)
    content = {
        "smhd": smhd(ours, theirs),
        "shd": shd(ours, theirs),
        "precision": accuracy.precision,
        "recall": accuracy.recall,
        "f1": accuracy.f1,
    }
    if as_json:
        print_json(content)
    else:
        print_table(rows_table(tuple(content), [tuple(content.values())]))


@app.command(epilog=examples("fedbn networks", "fedbn networks --network-dir bifs --json"))
@with_quiet
def networks(network_dir: NetworkDir = None, as_json: Json = False) -> None:
    """List the networks that can be sampled by name."""
    from simulations.inputs import network_facts
    from simulations.terminal import print_json, print_table, rows_table

    facts = network_facts(network_dir)
    if as_json:
        print_json({"networks": facts})
        return
    print_table(rows_table(tuple(facts[0]), [tuple(fact.values()) for fact in facts]))


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
app.command(epilog=examples("fedbn warmup", "fedbn warmup --jobs 2"))(warmup)
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
app.command(
    "app",
    rich_help_panel=SITES,
    epilog=examples(
        "fedbn app run --set out-dir=results/deployed --set rounds-limit=2",
        "fedbn app run --config run.toml",
    ),
)(with_quiet(app_folder))
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
