"""Choosing by counts under masks where sites have different columns: what the open run chooses, by
sums over blocks alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbn.arrays import Ints
from fedbn.choice.judged import CountsOfSites, Told, begin_judged
from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema
from fedbn.data.tables import write_table
from fedbn.errors import MessageError, QuorumError
from fedbn.federation.choice_record import choice_facts
from fedbn.federation.run_remarks import run_remarks
from fedbn.federation.secure_rounds import SecureResult, statements
from fedbn.graphs.dag import DAG
from fedbn.graphs.pdag import dag_to_cpdag
from fedbn.networks.catalog import load_network
from fedbn.networks.family_counts import Family, FamilyTables, families_of
from fedbn.secure.family_sums import FamilySums, own_counts, parts_of, sum_families_of_blocks
from fedbn.secure.requests import CountRequest
from simulations.experiment import experiment_from
from simulations.run import ExperimentRun, run_experiment
from tests import naive_judged as naive
from tests.choice.test_judged import Sites, columns_of, random_sites, start
from tests.naive import all_dags
from tests.server.test_secure_columns import COLUMNS, FEW, deployed, run_deployed, tables

pytestmark = pytest.mark.filterwarnings("ignore::fedbn.errors.FedbnWarning")  # rare states

FEDERATIONS = [("asia", 2, 3, 3), ("sachs", 3, 2, 4), ("child", 5, 3, 3)]
SLOW = [pytest.param(made, marks=pytest.mark.slow) for made in FEDERATIONS[1:]]


def federation(folder: Path, network: str, seed: int, kinds: int, sites: int) -> list[Path]:
    """Tables of 60, 200 or 1,500 rows, in kinds that each have four fifths of the columns."""
    gold, rng, paths = load_network(network), np.random.default_rng(seed), []
    for kind in range(kinds):
        own = sorted(rng.choice(gold.names, size=len(gold.names) * 4 // 5, replace=False))
        for site in range(sites):
            table = gold.sample(int(rng.choice((60, 200, 1500))), rng)
            paths.append(folder / f"k{kind}s{site}.csv")
            write_table(table.select(own), paths[-1])
    return paths


def chosen(paths: Sequence[Path], choose: str, **options: Any) -> ExperimentRun:
    wanted = {
        "sites": list(map(str, paths)),
        "variables": "union",
        "engine": "in-process",
        "choose": choose,
        "parameters": "federated",
    }
    return run_experiment(experiment_from(wanted | options))


def facts(run: ExperimentRun) -> dict[str, Any]:
    return choice_facts(run.result.choice, run.result.schema)


@pytest.mark.parametrize("choose", ["counts", "climb"])
@pytest.mark.parametrize("made", [FEDERATIONS[0], *SLOW])
def test_masks_choose_as_the_open_run(
    made: tuple[str, int, int, int], choose: str, tmp_path: Path
) -> None:
    """By the same moves and requests, and with the same parameters, to the last digit."""
    paths = federation(tmp_path, *made)
    opened = chosen(paths, choose)
    summed = chosen(paths, choose, aggregation="secure-sums")
    ours, theirs = summed.result, opened.result
    assert isinstance(ours, SecureResult)
    assert ours.choice.moves == theirs.choice.moves != ()
    assert facts(summed) == facts(opened)
    assert ours.choice.mechanisms == theirs.choice.mechanisms
    assert ours.consensus.dag == theirs.consensus.dag
    assert ours.consensus.mean_smhd == theirs.consensus.mean_smhd
    assert ours.consensus.reading == theirs.consensus.reading == "counts"
    assert summed.network == opened.network is not None
    learned = " ".join(statements(ours))
    assert "in the rows of each block that has its columns, and the sums" in learned


def test_no_order_of_sites_matters(tmp_path: Path) -> None:
    """Sites are called by their places, so judges are counted."""
    paths = federation(tmp_path, *FEDERATIONS[0])
    found = [
        chosen(each, "climb", aggregation="secure-sums") for each in (paths, [*reversed(paths)])
    ]
    first, second = (
        [(m.kind, m.x, m.y, m.nats, len(m.judges)) for m in run.result.choice.moves]
        for run in found
    )
    assert first == second != []
    assert found[0].result.consensus.dag == found[1].result.consensus.dag
    assert found[0].network == found[1].network


@pytest.mark.usefixtures("packed_flower")
def test_flower_chooses_the_same_under_masks(tmp_path: Path) -> None:
    paths = federation(tmp_path, *FEDERATIONS[0])
    here, there = (
        chosen(paths, "climb", aggregation="secure-sums", engine=engine)
        for engine in ("in-process", "flower")
    )
    assert facts(here) == facts(there)
    assert here.result.choice.moves
    assert here.result.consensus.dag == there.result.consensus.dag
    assert here.network == there.network is not None


def test_what_no_block_has_is_not_counted_and_is_named(tmp_path: Path) -> None:
    """The last site has lung, but answers for the columns of its block."""
    run = chosen(tables(tmp_path, COLUMNS), "counts", aggregation="secure-sums")
    result = run.result
    has = [frozenset(own) for own in result.answered]
    names, families = result.schema.names, set(result.choice.unjudged)
    assert families
    assert not any({names[v] for v in (f.node, *f.parents)} <= own for f in families for own in has)
    kept = families & set(families_of([result.consensus.dag]))
    remarks = " ".join(run_remarks(result))
    assert ("the structures decide instead" in remarks) == bool(kept)
    assert "because no site answers under masks for all of their columns" in remarks
    assert len(facts(run)["without_site"]) == len(families)
    lung = {move for move in result.choice.moves if "lung" in (move.x, move.y)}
    assert all("client 6" not in move.judges for move in lung)


def test_where_nothing_moves_the_structures_stand(tmp_path: Path) -> None:
    """With more judges wanted than there are sites no move has enough."""
    paths = federation(tmp_path, *FEDERATIONS[0])
    options = {"aggregation": "secure-sums", "min-judges": 10}
    alone, counted = (chosen(paths, choose, **options).result for choose in ("smhd", "climb"))
    assert counted.choice.moves == ()
    for figure in ("dag", "theta", "reading", "mean_smhd"):
        assert getattr(counted.consensus, figure) == getattr(alone.consensus, figure)
    assert counted.consensus.reading != "counts"


def test_sites_with_all_columns_choose_by_totals(tmp_path: Path) -> None:
    """As the open run does, byte for byte with `variables = same`."""
    gold, rng, paths = load_network("asia"), np.random.default_rng(4), []
    for site in range(3):
        paths.append(tmp_path / f"s{site}.csv")
        write_table(gold.sample(300, rng), paths[-1])
    same, union = (
        chosen(paths, "counts", aggregation="secure-sums", variables=variables)
        for variables in ("same", "union")
    )
    assert union.result.choice.moves is None
    assert facts(same) == facts(union)
    assert same.result.consensus.dag == union.result.consensus.dag
    assert same.result.consensus.mean_smhd == union.result.consensus.mean_smhd


def test_a_block_below_min_cohort_is_refused(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    paths = tables(tmp_path, COLUMNS)
    with pytest.raises(QuorumError, match="min-cohort"):  # the last stays alone
        chosen(paths, "counts", aggregation="secure-sums", **{"min-alike": 1})
    configs = deployed(tmp_path, FEW, "counts = true\nmin-cohort = 4\n")
    with pytest.raises(QuorumError, match="refused by this site's policy: min-cohort"):
        run_deployed(configs, choose="counts")
    assert "3 sites with these columns, at least 4 wanted" in caplog.text


# --- sums over blocks ---------------------------------------------------------------------------


def blocks(rng: np.random.Generator) -> tuple[Sites, Schema]:
    """Random tables, each divided over two or three sites, some of them very small."""
    sites, schema = random_sites(rng, 4, 5, 60)
    found = {}
    for name, table in sites.items():
        ends = np.sort(rng.integers(1, table.n_rows, int(rng.integers(1, 3))))
        for k, rows in enumerate(np.split(np.arange(table.n_rows), np.unique(ends))):
            found[f"{name}{k}"] = table.take(rows)
    return found, schema


def summed(
    sites: Sites, schema: Schema, families: tuple[Family, ...], order: Sequence[str]
) -> tuple[Ints, tuple[tuple[Any, FamilySums], ...]]:
    """The vector that the server sees, and what it makes of it."""
    own = columns_of(sites, schema)
    columns = [sorted(own[site]) for site in order]
    asking = sum_families_of_blocks(FamilyTables(schema, families), columns, 1.0)
    request = next(asking)
    vectors = [
        own_counts(request, sites[site], 1.0, schema, columns, place)
        for place, site in enumerate(order)
    ]
    with pytest.raises(StopIteration) as end:
        asking.send(np.sum(vectors, axis=0))
    return np.sum(vectors, axis=0), end.value.value


EVERY = tuple(sorted(families_of(all_dags(4))))


@settings(deadline=None, max_examples=8)
@given(seed=st.integers(0, 10_000), least=st.integers(1, 3))
def test_moves_by_sums_over_blocks_are_the_twins(seed: int, least: int) -> None:
    """The twin has the rows of every site."""
    rng = np.random.default_rng(seed)
    sites, schema = blocks(rng)
    names, own = sorted(sites), columns_of(sites, schema)
    told: dict[Family, dict[tuple[str, ...], Told]] = {}
    for part, sums in summed(sites, schema, EVERY, names)[1]:
        together = tuple(site for site in names if own[site] in part.blocks)
        for family, score in zip(part.tables.families, sums.own.tolist(), strict=True):
            each = Told(sums.counts.filled_cells(family), score)
            told.setdefault(family, {})[together] = each
    dag = DAG(schema.names, all_dags(4)[int(rng.integers(543))].adjacency)
    begun = start(sites, schema, dag, min_judges=least)
    found = begin_judged(replace(begun, known=CountsOfSites(schema, 1.0, told)))
    moves, reached = naive.climb(sites, dag, least)
    assert [(m.kind, m.x, m.y, m.judges) for m in found.moves] == [
        (kind, dag.names[x], dag.names[y], heard) for kind, x, y, heard, _ in moves
    ]
    assert [m.nats for m in found.moves] == pytest.approx([m[-1] for m in moves], abs=1e-5)
    assert dag_to_cpdag(found.dag) == dag_to_cpdag(reached)
    assert found.moves == begin_judged(begun).moves  # the open run, bit for bit


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 10_000))
def test_two_sites_of_a_block_may_exchange_their_tables(seed: int) -> None:
    """No sum says which is whose; and whoever answers first, the sums are the same."""
    rng = np.random.default_rng(seed)
    sites, schema = blocks(rng)
    names, own = sorted(sites), columns_of(sites, schema)
    before, _ = summed(sites, schema, EVERY, names)
    one, other = names[0], names[1]
    assert own[one] == own[other]
    exchanged = {**sites, one: sites[other], other: sites[one]}
    assert summed(exchanged, schema, EVERY, names)[0].tolist() == before.tolist()
    order = list(rng.permutation(names))
    assert summed(sites, schema, EVERY, order)[0].tolist() == before.tolist()


def test_parts_are_of_blocks_for_choosing_and_of_all_that_have_a_family_for_parameters() -> None:
    schema = Schema.categorical(dict.fromkeys("abc", "01"))
    families = (Family(0, ()), Family(1, (0,)), Family(1, (2,)), Family(2, (0,)))
    columns = [(0, 1)] * 3 + [(0, 2)] * 3
    left, right = frozenset({0, 1}), frozenset({0, 2})

    def asked(own: bool) -> list[tuple[Any, tuple[Family, ...]]]:
        parts = parts_of(CountRequest(families, own), schema, columns)
        return [(part.blocks, part.tables.families) for part in parts]

    assert asked(own=True) == [
        ((left,), (Family(0, ()), Family(1, (0,)))),
        ((right,), (Family(0, ()), Family(2, (0,)))),
    ]
    assert asked(own=False) == [
        ((left, right), (Family(0, ()),)),
        ((left,), (Family(1, (0,)),)),
        ((right,), (Family(2, (0,)),)),
    ]


def test_more_cells_than_a_sum_may_have_are_refused_by_the_site() -> None:
    """Of all blocks together, so that nobody makes a site write a longer vector."""
    schema = Schema.categorical({f"v{i:02}": "01" for i in range(23)})
    table = Dataset(schema, np.zeros((2, 23), dtype=np.int64))
    request = CountRequest((Family(0, tuple(range(1, 23))),), own=True)
    with pytest.raises(MessageError, match="at most 5000000 cells, not 8388608"):
        own_counts(request, table, 1.0, schema, [tuple(range(23))] * 3, 0)
