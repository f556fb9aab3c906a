"""Sites with different columns under secure sums, from end to end: parity, blocks, refusals."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedbn.arrays import Ints
from fedbn.data.schema import Schema
from fedbn.data.tables import read_dataset, write_table
from fedbn.errors import ConfigError, DataError, MessageError, QuorumError
from fedbn.federation.disclosure_log import read_log
from fedbn.federation.run_config import to_run_config
from fedbn.federation.run_remarks import run_remarks
from fedbn.federation.secure_rounds import SecureResult, statements
from fedbn.federation.settings import Experiment
from fedbn.networks.catalog import load_network
from fedbn.networks.family_counts import (
    Family,
    FamilyCounts,
    FamilyTables,
    count_own_families,
    families_of,
)
from fedbn.networks.fitting import parameters_where_known
from fedbn.networks.parameter_sources import not_given_in
from fedbn.results.sums import sums_content
from fedbn.secure.family_sums import families_within, sum_families_of_blocks
from fedbn.secure.past_cohorts import read_cohorts
from fedbn.secure.requests import CountRequest
from server.server_app import Federated, federate
from simulations.experiment import experiment_from
from simulations.in_process_grid import InProcessGrid
from simulations.run import ExperimentRun, run_experiment
from tests.clients.deployed import known_to_each_other, prepared_nodes

pytestmark = pytest.mark.usefixtures("chosen_once")

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


def deployed(
    folder: Path, columns: dict[str, tuple[str, ...]], more: str = ""
) -> list[dict[str, str]]:
    tables(folder, columns)
    for name, (first, last) in known_to_each_other(folder, columns).items():
        text = f"{first}[policy]\nmin-state-rows = 0\nsecure-sums = true\n{more}{last}"
        (folder / f"{name}.toml").write_text(text)
    return prepared_nodes(folder, columns)


def run_deployed(configs: list[dict[str, str]], **options: Any) -> Federated:
    experiment = Experiment.of(
        variables="union",
        aggregation="secure-sums",
        connect_seconds=0.0,
        min_replies=len(configs),
        **options,
    )
    return federate(InProcessGrid(to_run_config(experiment), configs), experiment)


@pytest.mark.slow
def test_deployed_sites_find_the_same_and_keep_the_company_of_their_block(tmp_path: Path) -> None:
    configs = deployed(tmp_path, FEW, "counts = true\n")
    with pytest.raises(QuorumError, match="min-cohort"):
        run_deployed(configs, min_alike=1)  # b3 would stay alone
    federated = run_deployed(configs, parameters="federated")
    found = federated.result
    paths = [tmp_path / f"{name}.csv" for name in FEW]
    simulation = simulated(paths, aggregation="secure-sums")
    assert found.consensus.dag.edges == simulation.consensus.dag.edges
    assert found.answered == simulation.answered == (*[FEW["a1"]] * 3, *[FEW["b1"]] * 3)
    cohorts = read_cohorts(tmp_path / "b3.csv.cohorts.jsonl")
    assert [cohort for _, cohort in cohorts] == [frozenset({"b1", "b2", "b3"})]
    assert federated.network == fitted(paths, aggregation="secure-sums").network is not None


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


def fitted(paths: list[Path], **options: Any) -> ExperimentRun:
    wanted = {"sites": list(map(str, paths)), "variables": "union", "engine": "in-process"}
    return run_experiment(experiment_from(wanted | {"parameters": "federated"} | options))


@pytest.mark.parametrize("aggregation", ["secure-sums", "moral-votes"])
def test_tables_under_masks_are_of_the_rows_of_whole_blocks(
    tmp_path: Path, aggregation: str
) -> None:
    """b3 has lung, but answers for its block: no table with lung is of its rows."""
    paths = tables(tmp_path, COLUMNS)
    run = fitted(paths, aggregation=aggregation)
    schema, dag = run.result.schema, run.result.consensus.dag
    counts = []
    for path, answered in zip(paths, SAME.values(), strict=True):
        table = read_dataset(path, "categorical").select(answered)
        own = families_within(families_of([dag]), set(map(schema.index, answered)))
        found = table.with_schema(schema.restrict(answered))
        counts.append(count_own_families(found, FamilyTables(schema, own)))
    network, lacking = parameters_where_known(dag, counts)
    assert run.network == network
    assert {each.variable for each in run.sources.not_given} == {
        schema.names[family.node] for family in lacking
    }
    rows = {each.table(family).sum() for each in counts for family in each.tables.families}
    assert rows == {3000}
    words = f"counts of {sum(family not in lacking for family in families_of([dag]))} families"
    assert f"{words} in the rows of all sites that answered for its" in " ".join(
        statements(run.result)
    )


def test_who_has_a_column_and_did_not_answer_for_it_does_not_lack_it(tmp_path: Path) -> None:
    """All sites are one block, which answers for the columns that all have."""
    run = fitted(tables(tmp_path, COLUMNS), aggregation="secure-sums", **{"min-alike": 6})
    told = [each.words for each in run.sources.not_given]
    assert any("client 6 did not answer under masks for 'lung'" in words for words in told)
    assert not any(" lacks " in words for words in told)
    kept = not_given_in({"parameters": run.sources.to_dict()}, "run.json")
    assert kept == run.sources.not_given


def test_with_whole_blocks_masked_parameters_are_those_of_the_open_run(tmp_path: Path) -> None:
    paths = tables(tmp_path, SAME)
    opened, summed = fitted(paths), fitted(paths, aggregation="secure-sums")
    assert summed.network == opened.network is not None
    assert summed.sources.sites == opened.sources.sites
    assert summed.sources.not_given == opened.sources.in_blocks().not_given
    assert [each.variable for each in opened.sources.not_given] == ["either"]


def test_a_sum_over_blocks_in_which_one_family_has_other_rows_is_none() -> None:
    """Families of the same blocks must be of one table; those of other blocks need not."""
    schema = Schema.categorical(dict.fromkeys("abc", "01"))
    tables = FamilyTables(schema, (Family(0, ()), Family(1, (0,)), Family(2, (0,))))
    columns = [(0, 1), (0, 2)]
    cells = np.array([5, 6, 2, 1, 2, 1, 1, 2, 1, 1])

    def heard(sums: Ints) -> list[FamilyCounts]:
        asking = sum_families_of_blocks(tables, columns)
        assert next(asking) == CountRequest(tables.families, False)
        with pytest.raises(StopIteration) as end:
            asking.send(sums)
        return [found.counts for _, found in end.value.value]

    assert [each.rows for each in heard(cells)] == [11, 6, 5]
    with pytest.raises(DataError):
        heard(-cells)
    asking = sum_families_of_blocks(tables, [(0, 1, 2)])
    next(asking)
    with pytest.raises(DataError, match="every family must count the same rows"):
        asking.send(cells)
    asking = sum_families_of_blocks(tables, columns)
    next(asking)
    with pytest.raises(MessageError, match="must be 10 int64"):
        asking.send(cells[:9])


NUMBERS = {
    **dict.fromkeys(("a1", "a2", "a3"), ("age", "crp", "sex")),
    **dict.fromkeys(("b1", "b2"), ("crp", "dose", "sex")),
    "b3": ("crp", "dose", "rare", "sex"),
}


def deployed_numbers(folder: Path, more: str = "") -> list[dict[str, str]]:
    """Age and sex → crp → dose; at one site a state that one row has, in a column of its own."""
    for seed, (name, own) in enumerate(NUMBERS.items()):
        rng = np.random.default_rng(seed)
        age, sex, rare = rng.normal(50, 10, 200), rng.integers(0, 2, 200), np.arange(200) == 0
        crp = 0.1 * age + 2 * sex + rng.normal(size=200) + seed
        dose = crp + rng.normal(size=200)
        columns = {"age": age, "crp": crp, "dose": dose, "rare": rare, "sex": sex}
        lines = zip(*(columns[each].astype(float).tolist() for each in own), strict=True)
        text = "\n".join(",".join(map(str, row)) for row in lines)
        (folder / f"{name}.csv").write_text(f"{','.join(own)}\n{text}\n")
        states = {each: ["0.0", "1.0"] if each in ("rare", "sex") else None for each in own}
        (folder / f"{name}.json").write_text(json.dumps(states))
    rules = "secure-sums = true\ncounts = true\nmin-state-rows = 0\n"
    for name, (first, last) in known_to_each_other(folder, NUMBERS).items():
        own = more if name == "b3" else ""
        text = f'{first}schema = "{name}.json"\n[policy]\n{rules}{own}{last}'
        (folder / f"{name}.toml").write_text(text)
    return prepared_nodes(folder, NUMBERS)


OF_NUMBERS = {
    "score": "mixed-bic",
    "numbers": ("age", "crp", "dose"),
    "choose": "climb",
    "parameters": "federated",
}


def test_rules_hold_for_the_columns_that_a_site_answers_for(tmp_path: Path) -> None:
    """The row with the rare state is in no sum, so it holds nothing back; another is."""
    found = run_deployed(deployed_numbers(tmp_path, "min-cell = 5\n"), **OF_NUMBERS)
    assert found.result.lacking == found.sources.failure == ""
    assert found.result.answered[-1] == NUMBERS["b1"]
    assert found.network is not None
    log = [each.words for each in read_log(tmp_path / "b3.csv.disclosures.jsonl").entries]
    assert any("14 integers, rows and sums of products of all columns" in each for each in log)
    assert "sums of squares that equations leave" in log[-1]


@pytest.mark.parametrize(
    ("policy", "word"),
    [("min-cell = 120\n", "min-cell"), ("counts-max-parents = 0\n", "counts")],
)
def test_what_a_site_of_a_block_refuses_nobody_learns(
    tmp_path: Path, policy: str, word: str
) -> None:
    found = run_deployed(deployed_numbers(tmp_path, policy), **OF_NUMBERS)
    assert word in found.result.lacking
    assert word in found.sources.failure
    assert found.result.columns == 0
    assert found.network is None


def test_a_block_of_numbers_below_min_cohort_is_refused(tmp_path: Path) -> None:
    with pytest.raises(QuorumError, match="refused by this site's policy: min-cohort"):
        run_deployed(deployed_numbers(tmp_path, "min-cohort = 4\n"), **OF_NUMBERS)
