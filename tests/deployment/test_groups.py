"""Groups of deployed sites: the apps of nodes, with site files and policies, grouped in a run."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from fedbn.data.tables import write_schema, write_table
from fedbn.errors import ConfigError, FedbnError
from fedbn.federation.prepared_table import renew
from fedbn.federation.run_config import to_run_config
from fedbn.federation.settings import Experiment
from fedbn.federation.site_file import read_site_file
from fedbn.graphs.random import random_dag
from fedbn.networks.random import node_names, random_bayesian_network
from server.server_app import run_and_write
from simulations.cli import app
from simulations.deployment.executor import site_config
from simulations.in_process_grid import InProcessGrid
from simulations.run import run_experiment

pytestmark = pytest.mark.filterwarnings("ignore::fedbn.errors.FedbnWarning")

SITES = ("a1", "a2", "a3", "b1", "b2", "b3")
SITE = """name = "{site}"
table = "{site}.csv"
schema = "states.json"

[policy]
counts = true
diagnostics = true
"""
GROUPS = [["a1", "a2", "a3"], ["b1", "b2", "b3"]]


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Site -> its file: three sites each of two random networks, which allow counts and tell their
    names. Beside them the agreed states, and the groups by name."""
    folder = tmp_path_factory.mktemp("sites")
    rng, names = np.random.default_rng(5), node_names(12)
    sources = {
        letter: random_bayesian_network(
            random_dag(names, rng=rng, edges=16), rng=rng, states=(2, 2), concentration=0.4
        )
        for letter in "ab"
    }
    tables = {site: folder / f"{site}.csv" for site in SITES}
    for stream, (site, path) in enumerate(tables.items()):
        write_table(sources[site[0]].sample(800, np.random.default_rng(stream)), path)
    write_schema(sources["a"].schema, folder / "states.json")
    lines = ["site,group", *(f"{site},{'west' if site[0] == 'a' else 'east'}" for site in SITES)]
    (folder / "groups.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    files = {}
    for site, table in tables.items():
        files[site] = table.with_suffix(".toml")
        files[site].write_text(SITE.format(site=site), encoding="utf-8")
        renew(str(table), read_site_file(files[site]))
    return files


def settings_of(files: Mapping[str, Path], **more: object) -> Experiment:
    folder = next(iter(files.values())).parent
    if more.pop("given", False):
        more["groups_file"] = str(folder / "groups.csv")
    told = {"share_diagnostics": True, "min_replies": 6}  # sites tell their names and rows
    return Experiment.of(schema=str(folder / "states.json"), **told, **more)


def run_deployed(files: Mapping[str, Path], experiment: Experiment, out: Path) -> Path:
    here = experiment.change(out_dir=str(out))
    configs = [site_config(file) for file in files.values()]
    run_and_write(InProcessGrid(to_run_config(here), configs), here, 1)
    return out


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({"groups": "auto", "choose": "climb"}, marks=pytest.mark.slow),
        {"groups": "2", "choose": "counts"},
        {"given": True},
        pytest.param({"given": True, "aggregation": "secure-sums"}, marks=pytest.mark.slow),
    ],
    ids=lambda more: " ".join(map(str, more.values())),
)
def test_deployed_sites_have_the_groups_of_the_simulation(
    sites: dict[str, Path], more: dict[str, object], tmp_path: Path
) -> None:
    experiment = settings_of(sites, parameters="federated", **more)
    out = run_deployed(sites, experiment, tmp_path / "out")
    run = json.loads((out / "run.json").read_text(encoding="utf-8"))
    assert run["groups"]["groups"] == GROUPS
    tables = tuple(str(file.with_suffix(".csv")) for file in sites.values())
    same = experiment.change(sites=tables, engine="in-process", aggregation="open")
    simulated = run_experiment(same).grouping
    assert simulated is not None
    for number, dag in enumerate(simulated.consensuses, start=1):
        own = json.loads((out / f"groups/group-{number}.json").read_text(encoding="utf-8"))
        assert [tuple(edge) for edge in own["edges"]] == list(dag.edges)
    with (out / "groups.csv").open(encoding="utf-8") as file:
        assert [row["group"] for row in csv.DictReader(file)] == ["1"] * 3 + ["2"] * 3
    answers = {
        CliRunner().invoke(app, ["query", str(out), "--ask", "X01", "--group", number]).stdout
        for number in "12"
    }
    assert len(answers) == 2


def test_a_deployed_run_with_groups_is_updated(sites: dict[str, Path], tmp_path: Path) -> None:
    out = run_deployed(sites, settings_of(sites, groups="auto"), tmp_path / "out")
    less = tmp_path / "less"
    command = ["update", str(out), "--remove", "b3", "--out", str(less), "-q"]
    result = CliRunner().invoke(app, command, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    run = json.loads((less / "run.json").read_text(encoding="utf-8"))
    assert run["groups"]["groups"] == [GROUPS[0], GROUPS[1][:2]]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("site,group\na1,west\na2,west\n", "no group for site 'a3'"),
        ("site,group\na1,west\na1,east\n", "'a1'"),
        ("name,group\na1,west\n", "site"),
    ],
    ids=["a site without a group", "a site twice", "no column of sites"],
)
def test_wrong_groups_of_deployed_sites_are_refused_by_name(
    sites: dict[str, Path], text: str, words: str, tmp_path: Path
) -> None:
    (tmp_path / "groups.csv").write_text(text, encoding="utf-8")
    experiment = settings_of(sites, groups_file=str(tmp_path / "groups.csv"))
    with pytest.raises(FedbnError, match=words):
        run_deployed(sites, experiment, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("groups", ["auto", "2"])
def test_groups_of_deployed_sites_are_not_found_from_sums(
    sites: dict[str, Path], groups: str
) -> None:
    with pytest.raises(ConfigError, match="or give them"):
        settings_of(sites, groups=groups, aggregation="secure-sums")
