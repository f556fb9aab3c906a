"""Sites with different columns under secure sums, from end to end: parity, blocks, refusals."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedbn.data.tables import write_table
from fedbn.errors import ConfigError, QuorumError
from fedbn.federation.run_config import to_run_config
from fedbn.federation.run_remarks import run_remarks
from fedbn.federation.runs import server_run
from fedbn.federation.secure_rounds import SecureResult, statements
from fedbn.federation.settings import Experiment
from fedbn.networks.catalog import load_network
from fedbn.results.sums import sums_content
from fedbn.secure.cohorts import read_cohorts
from server.server_app import federate
from simulations.experiment import experiment_from
from simulations.in_process_grid import InProcessGrid
from simulations.run import run_experiment
from tests.clients.deployed import known_to_each_other, prepared_nodes

LABORATORY = ("asia", "bronc", "dysp", "either", "lung", "smoke")
RADIOLOGY = ("dysp", "either", "smoke", "tub", "xray")
COLUMNS = {
    "a1": LABORATORY,
    "a2": LABORATORY,
    "a3": LABORATORY,
    "b1": RADIOLOGY,
    "b2": RADIOLOGY,
    "b3": (*RADIOLOGY, "lung"),
}
SAME = COLUMNS | {"b3": RADIOLOGY}


def tables(folder: Path, columns: dict[str, tuple[str, ...]]) -> list[Path]:
    """A table for each site, of asia."""
    network, paths = load_network("asia"), []
    for seed, (site, own) in enumerate(columns.items()):
        found = network.sample(3000, np.random.default_rng(seed)).select(own)
        paths.append(folder / f"{site}.csv")
        write_table(found, paths[-1])
    return paths


def simulated(paths: list[Path], **options: Any) -> SecureResult:
    wanted = {"sites": list(map(str, paths)), "variables": "union", "engine": "in-process"}
    return run_experiment(experiment_from(wanted | options)).result


def test_blocks_of_alike_sites_get_the_consensus_of_the_open_run(tmp_path: Path) -> None:
    paths = tables(tmp_path, SAME)
    opened = simulated(paths)
    summed = simulated(paths, aggregation="secure-sums")
    assert summed.consensus.dag.edges == opened.consensus.dag.edges
    for figure in ("mean_smhd", "lower_bound", "theta", "reading", "pooling"):
        assert getattr(summed.consensus, figure) == getattr(opened.consensus, figure)
    assert summed.answered == tuple(tuple(sorted(own)) for own in SAME.values())
    assert "blocks of 3, 3 sites" in " ".join(statements(summed))
    assert "all other sites of a block (2 of the 3 in the smallest)" in statements(summed)[-2]
    require_words_on_lone_sites(summed)
    unknown = [("asia", "tub"), ("asia", "xray"), ("bronc", "tub"), ("bronc", "xray")]
    assert summed.unknown == (*unknown, ("lung", "tub"), ("lung", "xray"))
    assert "6 pairs of columns could not be judged" in run_remarks(summed)[0]
    told = sums_content(summed)
    assert told["columns"]["client 4"] == list(RADIOLOGY)
    assert len(told["never_together"]) == 6
    voted = simulated(paths, aggregation="moral-votes")
    assert voted.consensus.lower_bound == opened.consensus.lower_bound


def require_words_on_lone_sites(summed: SecureResult) -> None:
    """The server needs nobody's help to see what a site alone answers."""
    laboratory, radiology = summed.answered[0], summed.answered[-1]
    one = replace(summed, answered=(*[laboratory] * 2, *[radiology] * 3, radiology[1:]))
    assert statements(one)[-2] == (
        "client 6 is alone in its block: the server sees this site's answers wherever no other "
        "block has a part in the sum. A server that colludes with all other sites of a block "
        "(1 of the 2 in the smallest block of several) can subtract their parts from sums over "
        "this block and so learn the part of the remaining site."
    )
    lone = replace(summed, answered=tuple(laboratory[:k] for k in range(1, 7)))
    assert (
        "client 5, client 6 are each alone in their block: the server sees each such"
        in statements(lone)[-2]
    )
    assert "colludes" not in statements(lone)[-2]


def test_a_site_with_a_column_more_answers_for_those_of_its_block(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    paths = tables(tmp_path, COLUMNS)
    summed = simulated(paths, aggregation="secure-sums")
    assert "all of their block have: client 6 (5 of 6)" in caplog.text
    assert summed.answered[-1] == RADIOLOGY
    with pytest.raises(QuorumError, match="min-cohort"):
        simulated(paths, aggregation="secure-sums", **{"min-alike": 1})  # the last stays alone
    with pytest.raises(ConfigError, match="min-alike"):
        simulated(paths[:2], aggregation="secure-sums")


FEW = {
    **dict.fromkeys(("a1", "a2", "a3"), ("bronc", "smoke")),
    **dict.fromkeys(("b1", "b2"), ("either", "lung")),
    "b3": ("either", "lung", "smoke"),
}


def deployed(folder: Path, columns: dict[str, tuple[str, ...]]) -> list[dict[str, str]]:
    tables(folder, columns)
    for name, (first, last) in known_to_each_other(folder, columns).items():
        text = f"{first}[policy]\nmin-state-rows = 0\nsecure-sums = true\n{last}"
        (folder / f"{name}.toml").write_text(text)
    return prepared_nodes(folder, columns)


def run_deployed(configs: list[dict[str, str]], **options: Any) -> SecureResult:
    experiment = Experiment.of(
        variables="union",
        aggregation="secure-sums",
        connect_seconds=0.0,
        min_replies=len(configs),
        **options,
    )
    return federate(
        InProcessGrid(to_run_config(experiment), configs), server_run(experiment)
    ).result


@pytest.mark.slow
def test_deployed_sites_find_the_same_and_keep_the_company_of_their_block(tmp_path: Path) -> None:
    configs = deployed(tmp_path, FEW)
    with pytest.raises(QuorumError, match="min-cohort"):
        run_deployed(configs, min_alike=1)  # b3 would stay alone
    found = run_deployed(configs)
    paths = [tmp_path / f"{name}.csv" for name in FEW]
    simulation = simulated(paths, aggregation="secure-sums")
    assert found.consensus.dag.edges == simulation.consensus.dag.edges
    assert found.answered == simulation.answered == (*[FEW["a1"]] * 3, *[FEW["b1"]] * 3)
    cohorts = read_cohorts(tmp_path / "b3.csv.cohorts.jsonl")
    assert [cohort for _, cohort in cohorts] == [frozenset({"b1", "b2", "b3"})]


def test_a_refused_sum_leaves_no_cohort_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server asks every site for a column that it lacks: nobody has answered, so nobody is
    bound to this company."""
    configs = deployed(tmp_path, FEW)
    with monkeypatch.context() as patched:
        patched.setattr(
            "server.secure_sums.answered_columns",
            lambda columns, *_: dict.fromkeys(columns, (0, 1, 2, 3)),
        )
        with pytest.raises(QuorumError, match="refused by this site's policy: query"):
            run_deployed(configs)
    files = [tmp_path / f"{name}.csv.cohorts.jsonl" for name in FEW]
    assert [read_cohorts(file) for file in files] == [()] * 6
    run_deployed(configs)
    assert [len(read_cohorts(file)) for file in files] == [1] * 6


@pytest.mark.parametrize(
    "options", [{"choose": "counts"}, {"choose": "climb"}, {"parameters": "federated"}]
)
def test_counts_are_refused_under_masks(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="variables = union does not go with aggregation"):
        Experiment.of(variables="union", aggregation="secure-sums", **options)
