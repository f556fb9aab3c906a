"""The commands of `fedbn`: where each is written, and the examples that its help ends with."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

SITES, STUDIES = "Sites and servers", "Studies"


@dataclass(frozen=True)
class Command:
    """A command or a group of commands, by its module, which is loaded when it is asked for.

    The command is named as its function, if nothing else is said. `quiet` gives it the option
    --quiet; `several` lets its list options take several values. `distribution` is the one that
    brings the command, where that is not fedbn itself.
    """

    module: str
    function: str
    examples: tuple[str, ...] = ()
    name: str = ""
    panel: str | None = None
    quiet: bool = False
    several: bool = False
    distribution: str = ""

    @property
    def typed(self) -> str:
        """The word after `fedbn`."""
        return self.name or self.function.replace("_", "-")

    @property
    def is_installed(self) -> bool:
        """Whether the package with the command is here."""
        return importlib.util.find_spec(self.module.rpartition(".")[0]) is not None

    def load(self) -> Callable[..., None] | Any:
        """The function, or the Typer app of a group."""
        return getattr(importlib.import_module(self.module), self.function)


COMMANDS = (
    Command(
        "simulations.studies.reproduce",
        "reproduce",
        panel=STUDIES,
        distribution="simulations/studies",
    ),
    Command(
        "simulations.cli.federations",
        "simulate",
        (
            "fedbn simulate --network asia --clients 5 --rows 1000",
            "fedbn simulate --network child --partition dirichlet-latent --alpha 0.3",
            "fedbn simulate --network child --rows 500 --row-weight ladder --choose counts",
            "fedbn simulate --table patients.csv --partition column --partition-column hospital",
            "fedbn simulate --sites a.csv b.csv c.csv --schema states.json --out results/three",
            "fedbn simulate --sites a.csv b.csv c.csv --variables union --out results/union",
            "fedbn simulate --network alarm --variables union --missing-variables 0.2",
            "fedbn simulate --network alarm --aggregation secure-sums",
            "fedbn simulate --config experiment.toml --engine in-process",
        ),
    ),
    Command(
        "simulations.sweeps.sweep",
        "sweep",
        (
            "fedbn sweep study.toml --jobs 2",
            "fedbn sweep study.toml --list",
            "fedbn sweep study.toml --minutes 10 --out results/study",
            "fedbn sweep study.toml --ray-address 10.0.0.1:6379",
            "fedbn sweep study.toml --slurm study.sh --slurm-tasks 20",
        ),
        panel=STUDIES,
    ),
    Command(
        "simulations.cli.tables",
        "learn",
        (
            "fedbn learn patients.csv",
            "fedbn learn patients.csv --score bic --out patients.graphml",
            "fedbn learn measurements.parquet --score gaussian-bic --json",
            "fedbn learn patients.csv --knowledge known.toml --turning --repeat",
            "fedbn learn patients.csv --learner dp-ges --epsilon 1 --schema states.json",
        ),
    ),
    Command(
        "simulations.cli.federations",
        "report",
        (
            "fedbn report results/alarm",
            "fedbn report results/alarm --public --out alarm.html",
        ),
    ),
    Command(
        "simulations.cli.tables",
        "audit",
        (
            "fedbn audit patients.csv --learner ges --game flips",
            "fedbn audit asia --rows 200 --learner credible --game shadow --json",
            "fedbn audit asia --rows 60 --learner dp-ges --epsilon 1 --game epsilon",
        ),
        panel=SITES,
    ),
    Command(
        "simulations.cli.structures",
        "fuse",
        (
            "fedbn fuse north.json south.bif east.json",
            "fedbn fuse a.csv b.csv --nodes age,smoking,cancer --weights 2,1",
            "fedbn fuse alarm.r100.txt.gz --first 20 --json",
            "fedbn fuse a.json b.json --steps --json",
            "fedbn fuse a.json b.json c.json --robust clip --polish --explain",
            "fedbn fuse a.json b.json c.json --method vote",
            "fedbn fuse a.json b.json --variables union --out results/union",
            "fedbn fuse a.json b.json c.json --gold true.bif --out results/fused",
        ),
    ),
    Command(
        "simulations.commands.sample",
        "sample",
        (
            "fedbn sample alarm --rows 5000 --out alarm.csv",
            "fedbn sample my-network.bif --rows 100 --seed 7",
            "fedbn sample results/north --table north.csv --epsilon 1 --out north-like.csv",
        ),
    ),
    Command(
        "simulations.commands.compare",
        "compare",
        (
            "fedbn compare consensus.json alarm",
            "fedbn compare learned.csv true.bif --nodes age,smoking,cancer --json",
            "fedbn compare results/alarm alarm --test-rows held-out.csv",
        ),
        quiet=True,
    ),
    Command(
        "simulations.commands.convert",
        "convert",
        ("fedbn convert results/alarm alarm.xdsl", "fedbn convert from-hugin.net network.bif"),
        quiet=True,
    ),
    Command(
        "simulations.cli.networks",
        "networks",
        (
            "fedbn networks",
            "fedbn networks --network-dir bifs --json",
        ),
    ),
    Command(
        "simulations.cli.credible",
        "credible",
        (
            "fedbn credible patients.csv --bf 20 --score bic",
            "fedbn credible patients.csv --count --json",
            "fedbn credible patients.csv --list 10 --per-class --out edges.csv",
        ),
    ),
    Command(
        "simulations.commands.bootstrap",
        "bootstrap",
        (
            "fedbn bootstrap patients.csv --replicates 200 --threads 2 --strengths strengths.csv",
            "fedbn bootstrap patients.csv --threshold 0.85 --out averaged.json",
        ),
    ),
    Command(
        "simulations.deployment.commands",
        "update",
        (
            "fedbn update results/sites --remove north",
            "fedbn update results/sites --add west.json --out results/with-west",
        ),
    ),
    Command(
        "simulations.commands.tables",
        "inspect",
        (
            "fedbn inspect patients.csv",
            "fedbn inspect export.csv --separator ';' --decimal , --json",
        ),
        quiet=True,
    ),
    Command(
        "simulations.commands.tables",
        "schema",
        (
            "fedbn schema north.csv south.csv --out states.json",
            "fedbn schema north.csv south.csv --discretise age:4 --leave-out id --out states.json",
        ),
        quiet=True,
    ),
    Command(
        "simulations.commands.tables",
        "check",
        (
            "fedbn check north.toml --schema states.json",
            "fedbn check north.csv --json",
        ),
        panel=SITES,
        quiet=True,
    ),
    Command(
        "simulations.commands.parameters",
        "parameters",
        ("fedbn parameters results/sites --sites north.csv south.csv",),
        quiet=True,
        several=True,
    ),
    Command(
        "simulations.commands.query",
        "query",
        (
            "fedbn query results/alarm --ask HYPOVOLEMIA LVFAILURE --given HRBP=HIGH CVP=LOW",
            "fedbn query network.bif --all --given smoke=yes --json",
            "fedbn query results/alarm --ask CVP --given-file cases.csv --out answers.csv",
            "fedbn query a.json b.json --weights 3,1 --ask CVP",
            "fedbn query results/alarm --most-probable --given CVP=LOW",
            "fedbn query asia --ask dysp --do smoke=yes --versus smoke=no --class",
        ),
        quiet=True,
        several=True,
    ),
    Command(
        "simulations.deployment.commands",
        "keys",
        (
            "fedbn keys keys --host flower.example.org --host 192.0.2.7 --site north --site south",
            "fedbn keys keys --site west",
        ),
        panel=SITES,
        quiet=True,
    ),
    Command("simulations.cli.couriers", "courier", panel=SITES),
    Command(
        "simulations.cli.sites",
        "site",
        panel=SITES,
    ),
    Command(
        "simulations.deployment.commands",
        "app_folder",
        (
            "fedbn app run --set out-dir=results/deployed --set rounds-limit=2",
            "fedbn app run --config run.toml",
        ),
        name="app",
        panel=SITES,
        quiet=True,
    ),
    Command(
        "simulations.deployment.commands",
        "flower_run",
        (
            "fedbn flower-run .",
            "fedbn flower-run . --set clients=5 --set learner=xges --nodes 5",
        ),
        panel=SITES,
        quiet=True,
    ),
    Command(
        "simulations.deployment.commands",
        "executor",
        ("fedbn executor north.toml --supernode 127.0.0.1:9601 --secret keys/north.executor.key",),
        panel=SITES,
        quiet=True,
    ),
    Command(
        "simulations.deployment.commands",
        "disclosures",
        ("fedbn disclosures north.csv.disclosures.jsonl",),
        panel=SITES,
        quiet=True,
    ),
    Command(
        "simulations.commands.budget",
        "budget",
        (
            "fedbn budget patients.csv.privacy.jsonl",
            "fedbn budget patients.csv.privacy.jsonl --max-epsilon 3 --json",
        ),
        panel=SITES,
        quiet=True,
    ),
    Command(
        "simulations.deployment.commands",
        "deploy_demo",
        (
            "fedbn deploy-demo",
            "fedbn deploy-demo --insecure --json",
            "fedbn deploy-demo --variables union",
        ),
        panel=SITES,
    ),
)
