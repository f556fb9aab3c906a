"""Numbers under masks where sites have different columns: what the open run chooses, and its
parameters, by sums over blocks alone."""

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
from fedbn.choice.judged import JudgedClimb, begin_judged
from fedbn.choice.judged_sums import ScattersOfBlocks
from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema, Variable
from fedbn.data.tables import write_table
from fedbn.errors import DataError, MessageError, QuorumError
from fedbn.federation.run_remarks import run_remarks
from fedbn.federation.secure_rounds import statements
from fedbn.graphs.dag import DAG
from fedbn.graphs.pdag import dag_to_cpdag
from fedbn.networks.conditional_gaussian import ConditionalGaussianNetwork, Regressions
from fedbn.networks.family_counts import Family, families_of
from fedbn.networks.linear_gaussian import LinearGaussianNetwork
from fedbn.networks.parameter_sources import remarks_on
from fedbn.scores.scatter import scatter_of_table, sum_of_scatters
from fedbn.secure.blocks import Answering
from fedbn.secure.requests import ScatterRequest, SizeRequest
from fedbn.secure.scatter_sums import (
    levels_in,
    own_sums,
    sum_levels,
    sum_own_scores,
    sum_scatters,
)
from simulations.cli.federations import SIMULATED
from simulations.experiment import experiment_from
from simulations.run import ExperimentRun, run_experiment
from tests import naive_judged as naive
from tests.choice.test_judged import Sites, columns_of, of_numbers
from tests.naive import all_dags
from tests.server.spies import FOR_PARAMETERS, fall_silent, lie

pytestmark = pytest.mark.filterwarnings("ignore::fedbn.errors.FedbnWarning")

NAMES = tuple(f"v{k}" for k in range(8))
CATEGORIES = ("v0", "v3", "v6")
FEDERATIONS = [(5, "mixed"), (1, "gaussian")]
SLOW = [pytest.param(made, marks=pytest.mark.slow) for made in ((4, "mixed"), (9, "gaussian"))]


def federation(folder: Path, seed: int, kind: str) -> list[Path]:
    """Tables of 60, 200 or 800 rows at nine sites of three kinds, with six of eight columns each;
    every site has constants of its own."""
    rng, n, paths = np.random.default_rng(seed), len(NAMES), []
    order, slopes = rng.permutation(n), np.zeros((n, n))
    for i in range(n):
        for j in range(i):
            if rng.random() < 0.4:
                slopes[order[j], order[i]] = rng.choice([-1, 1]) * rng.uniform(0.5, 1.2)
    states = CATEGORIES if kind == "mixed" else ()
    schema = Schema(tuple(Variable(name, ("a", "b") if name in states else None) for name in NAMES))
    for number in range(9):
        if number % 3 == 0:
            own = sorted(rng.choice(NAMES, size=6, replace=False))
        values = np.zeros((int(rng.choice((60, 200, 800))), n))
        for v in order:
            drawn = values @ slopes[:, v] + rng.normal(size=len(values))
            values[:, v] = drawn > 0 if NAMES[v] in states else drawn
        apart = [0.0 if name in states else rng.normal() for name in NAMES]
        paths.append(folder / f"s{number}.csv")
        write_table(Dataset(schema, values + apart).select(own), paths[-1])
    return paths


def ran(paths: Sequence[Path], kind: str, **options: Any) -> ExperimentRun:
    numbers = [name for name in NAMES if name not in CATEGORIES]
    wanted = {
        "sites": list(map(str, paths)),
        "variables": "union",
        "engine": "in-process",
        "parameters": "federated",
        "score": f"{kind}-bic",
        **({"numbers": numbers} if kind == "mixed" else {}),
    }
    return run_experiment(experiment_from(wanted | options))


MASKED = {"aggregation": "secure-sums"}


def require_same_parameters(ours: ExperimentRun, theirs: ExperimentRun) -> None:
    """To a hundred-millionth, in units of which all numbers have a deviation of about 1."""
    assert ours.network is not None
    assert ours.network.dag == theirs.network.dag
    for here, there in zip(arrays_of(ours.network), arrays_of(theirs.network), strict=True):
        np.testing.assert_allclose(here, there, rtol=1e-8, atol=1e-8)
    assert [name for name, _ in ours.sources.shifts] == [name for name, _ in theirs.sources.shifts]
    assert ours.sources.not_given == theirs.sources.in_blocks().not_given
    for what in ("sites", "beyond", "turned", "added", "against", "apart"):
        assert getattr(ours.sources, what) == getattr(theirs.sources, what)


def arrays_of(network: LinearGaussianNetwork | ConditionalGaussianNetwork) -> list[Any]:
    if isinstance(network, LinearGaussianNetwork):
        return [network.coefficients, network.intercepts, network.standard_deviations]
    found: list[Any] = []
    for own in network.parameters:
        is_number = isinstance(own, Regressions)
        found += [own.coefficients, own.intercepts, own.standard_deviations] if is_number else [own]
    return found


@pytest.mark.parametrize("choose", ["counts", "climb"])
@pytest.mark.parametrize("made", [*FEDERATIONS, *SLOW])
def test_masks_choose_and_estimate_as_the_open_run(
    made: tuple[int, str], choose: str, tmp_path: Path
) -> None:
    paths = federation(tmp_path, *made)
    opened, summed = (ran(paths, made[1], choose=choose, **more) for more in ({}, MASKED))
    ours, theirs = summed.result.choice, opened.result.choice
    assert summed.result.consensus.dag == opened.result.consensus.dag
    assert summed.result.consensus.reading == opened.result.consensus.reading == "counts"
    assert summed.result.consensus.mean_smhd == opened.result.consensus.mean_smhd
    assert ours.moves != ()
    assert [(m.kind, m.x, m.y, m.judges) for m in ours.moves] == [
        (m.kind, m.x, m.y, m.judges) for m in theirs.moves
    ]
    for here, there in zip(ours.moves, theirs.moves, strict=True):
        assert abs(here.nats - there.nats) < 1e-6
    for here, there in zip(ours.mechanisms, theirs.mechanisms, strict=True):
        assert (here.variable, here.parents) == (there.variable, there.parents)
        assert abs(here.nats - there.nats) < 1e-6
    for what in ("families", "cells", "sites", "unjudged", "unscored", "left_out"):
        assert getattr(ours, what) == getattr(theirs, what)
    require_same_parameters(summed, opened)
    assert summed.sources.shifts
    learned = " ".join(statements(summed.result))
    assert "sums of products of 8 columns of each block together" in learned
    assert "the mean and the standard deviation" in learned
    assert "of all sites that answered for its columns" in learned
    told = " ".join(remarks_on(summed.sources))
    assert "so nobody knows a site's" in told
    assert ("may be of no population" in told) == bool(summed.sources.apart)
    assert summed.sources.apart or made not in FEDERATIONS
    assert "query --site" not in told


def test_a_simulation_wants_parameters_of_such_tables_unless_it_is_told_otherwise() -> None:
    wanted = {"variables": "union", "score": "mixed-bic", "sites": ["a.csv"]}
    for aggregation, parameters in (("secure-sums", "federated"), ("moral-votes", "none")):
        made = experiment_from(wanted | {"aggregation": aggregation}, base=SIMULATED)
        assert made.rounds.parameters == parameters


@pytest.mark.usefixtures("chosen_once")
@pytest.mark.parametrize("made", [*FEDERATIONS, *SLOW])
def test_structures_alone_have_parameters_too(made: tuple[int, str], tmp_path: Path) -> None:
    paths = federation(tmp_path, *made)
    opened, summed = (ran(paths, made[1], **more) for more in ({}, MASKED))
    assert summed.result.consensus.dag == opened.result.consensus.dag
    require_same_parameters(summed, opened)
    voted = ran(paths, made[1], aggregation="moral-votes")
    assert voted.network is not None
    assert voted.result.equations == 4


@pytest.mark.usefixtures("packed_flower")
def test_flower_finds_the_same_under_masks(tmp_path: Path) -> None:
    paths = federation(tmp_path, *FEDERATIONS[0])
    here, there = (
        ran(paths, "mixed", choose="climb", engine=engine, **MASKED)
        for engine in ("in-process", "flower")
    )
    assert here.result.choice.moves == there.result.choice.moves != ()
    assert here.result.consensus.dag == there.result.consensus.dag
    assert here.network == there.network is not None


def test_sites_with_all_columns_choose_by_totals(tmp_path: Path) -> None:
    rng, paths = np.random.default_rng(3), []
    for site in range(3):
        values = rng.normal(size=(100, 3)) @ np.array([[1, 1, 0], [0, 1, 1], [0, 0, 1]])
        paths.append(tmp_path / f"s{site}.csv")
        write_table(Dataset(Schema.gaussian("abc"), values), paths[-1])
    same, union = (
        ran(paths, "gaussian", choose="climb", variables=variables, **MASKED)
        for variables in ("same", "union")
    )
    assert union.result.choice.moves is None
    assert union.result.choice.score == same.result.choice.score
    assert union.result.consensus.dag == same.result.consensus.dag
    assert union.network == same.network is not None


def test_where_nothing_moves_the_structures_stand(tmp_path: Path) -> None:
    """With more judges wanted than there are sites no move has enough."""
    paths, options = federation(tmp_path, *FEDERATIONS[0]), {"min-judges": 10, **MASKED}
    alone, counted = (
        ran(paths, "mixed", choose=choose, **options).result for choose in ("smhd", "climb")
    )
    assert counted.choice.moves == ()
    for figure in ("dag", "theta", "reading", "mean_smhd"):
        assert getattr(counted.consensus, figure) == getattr(alone.consensus, figure)


def test_a_block_below_min_cohort_is_refused(tmp_path: Path) -> None:
    paths = federation(tmp_path, *FEDERATIONS[0])[:-1]
    with pytest.raises(QuorumError, match="min-cohort"):
        ran(paths, "mixed", choose="counts", **MASKED, **{"min-alike": 2})


def test_how_many_sites_of_a_block_have_no_score_is_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One column is determined by another at two sites of the first block."""
    import server.secure_sums as server

    rng, paths = np.random.default_rng(5), []
    for site in range(6):
        values = rng.normal(size=(200, 3)) @ np.array([[1, 1, 0], [0, 1, 1], [0, 0, 1]])
        if site < 2:
            values[:, 1] = 2 * values[:, 0]
        paths.append(tmp_path / f"s{site}.csv")
        write_table(
            Dataset(Schema.gaussian("abc"), values).select("abc" if site < 3 else "bc"), paths[-1]
        )
    seen: list[Ints] = []
    honest = server.unmasked_sum

    def kept(parts: Any) -> Ints:
        seen.append(honest(parts))
        return seen[-1]

    monkeypatch.setattr(server, "unmasked_sum", kept)
    result = ran(paths, "gaussian", choose="counts", parameters="none", **MASKED).result
    scores, refused = seen[-1].reshape(2, -1)
    assert refused.any()
    assert not refused.all()
    assert (np.abs(refused[refused != 0]) > 6).all()
    assert len(result.answering.blocks) == 2
    assert scores.size > result.families


# --- sites that refuse or lie -------------------------------------------------------------------


@pytest.mark.parametrize("last", [1, 2, 3])
def test_what_was_learned_is_said_where_a_site_falls_silent(
    last: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fall_silent(monkeypatch, ("own_sums",), 9 * last)
    paths = federation(tmp_path, *FEDERATIONS[0])
    result = ran(paths, "mixed", choose="climb", parameters="none", **MASKED).result
    assert "counts" in result.lacking
    assert (result.columns, len(result.within)) == (8, 3 * (last > 1))
    assert (result.choice is not None) == (last > 2)
    assert result.families == (0 if result.choice is None else result.choice.families)
    (learned,) = [each for each in statements(result) if each.startswith("Of the tables")]
    assert "and block the largest site's sum of squares" in learned
    assert ("of each block together" in learned) == (last > 1)


@pytest.mark.parametrize("request_", [1, 2, 3])
def test_sums_that_no_sites_have_leave_what_the_structures_chose(
    request_: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A site lies about levels (by the length), sums of products, or scores."""
    paths = federation(tmp_path, *FEDERATIONS[0])
    options = {"parameters": "none", **MASKED}
    alone = ran(paths, "mixed", **options).result

    lie(monkeypatch, ("own_sums",), 9 * request_, short=request_ == 1)
    result = ran(paths, "mixed", choose="climb", **options).result
    assert result.choice is None
    assert result.consensus.dag == alone.consensus.dag
    assert any(each.startswith("the structures alone chose: ") for each in run_remarks(result))


@pytest.mark.parametrize("request_", [1, 2, 3, 4])
def test_sums_for_parameters_that_no_sites_have_leave_none(
    request_: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lie(monkeypatch, FOR_PARAMETERS, 9 * request_, short=request_ == 1)
    run = ran(federation(tmp_path, *FEDERATIONS[0]), "mixed", **MASKED)
    assert run.network is None
    assert ("all of one length" if request_ == 1 else "masks hide which") in run.sources.failure
    assert run.result.equations == request_ - 1


# --- sums over blocks ---------------------------------------------------------------------------

SCHEMA = Schema((*(Variable(f"v{i}") for i in range(3)), Variable("w", ("a", "b", "c"))))


def blocks(rng: np.random.Generator) -> Sites:
    """Two to nine sites of one to three blocks, of very different numbers of rows; some sites are
    alone in theirs."""
    sites = {}
    for block in range(int(rng.integers(1, 4))):
        has = [v for v in range(4) if block == 0 or rng.random() < 0.7] or [0]
        for number in range(int(rng.integers(1 if block else 2, 4))):
            rows = int(rng.integers(40, 300))
            values = rng.normal(size=(rows, 4)) + rng.normal(scale=9, size=4)
            values[:, 3] = rng.integers(0, 3, rows)
            values[:, 1] += rng.choice([-0.5, 0.0, 0.5]) * values[:, 0] + (values[:, 3] == 1)
            values[:, 2] += rng.choice([0.0, 0.7]) * values[:, 1]
            whole = Dataset(SCHEMA, values)
            sites[f"s{block}{number}"] = whole.select([SCHEMA.names[v] for v in has])
    return sites


def answering(sites: Sites, order: Sequence[str] | None = None) -> Answering:
    own = columns_of(sites, SCHEMA)
    return Answering.of(SCHEMA, len(sites), [sorted(own[name]) for name in order or sites])


def driven(search: Any, sites: Sites, among: Answering) -> tuple[Any, list[Ints]]:
    """What a search finds, and the sums that it sees."""
    seen = []
    request = next(search)
    try:
        while True:
            seen.append(np.sum([own_sums(request, own, among) for own in sites.values()], axis=0))
            request = search.send(seen[-1])
    except StopIteration as end:
        return end.value, seen


EVERY = tuple(sorted(families_of(all_dags(4))))


def known_to_the_server(sites: Sites) -> tuple[ScattersOfBlocks, list[Ints]]:
    """All that it can ask for, and the sums that it sees."""
    among = answering(sites)

    def search() -> Any:
        levels = yield from sum_levels(SizeRequest(), levels_in(among))
        scatters = yield from sum_scatters(levels, among)
        return scatters, (yield from sum_own_scores(EVERY, [s.rows for s in scatters], among))

    (scatters, scores), seen = driven(search(), sites, among)
    names, own = sorted(sites), columns_of(sites, SCHEMA)
    first = [
        next(name for name in names if own[name] == {*block.columns}) for block in among.blocks
    ]
    known = ScattersOfBlocks(SCHEMA, own, dict(zip(first, scatters, strict=True)))
    told: dict[Family, dict[str, float]] = {}
    for block, of_block in zip(first, scores, strict=True):
        for family, score in zip(of_block.families, of_block.scores.tolist(), strict=True):
            told.setdefault(family, {})[block] = score
    return known.hearing(told), seen


@settings(deadline=None, max_examples=10)
@given(seed=st.integers(0, 10_000), least=st.integers(1, 4))
def test_moves_by_sums_over_blocks_are_the_twins_and_those_of_the_open_run(
    seed: int, least: int
) -> None:
    rng = np.random.default_rng(seed)
    sites = blocks(rng)
    known, _ = known_to_the_server(sites)
    dag = DAG(SCHEMA.names, all_dags(4)[int(rng.integers(543))].adjacency)
    opened = of_numbers(sites, SCHEMA, dag, least)
    found, theirs = begin_judged(replace(opened, known=known)), begin_judged(opened)
    moves, reached = naive.climb(sites, dag, least, naive.mixed_value, naive.free)
    assert told(found) == told(theirs)
    assert told(found) == [
        (kind, dag.names[x], dag.names[y], heard) for kind, x, y, heard, _ in moves
    ]
    assert [m.nats for m in found.moves] == pytest.approx([m[-1] for m in moves], abs=1e-5)
    assert dag_to_cpdag(found.dag) == dag_to_cpdag(reached)


def told(climb: JudgedClimb) -> list[tuple[str, str, str, tuple[str, ...]]]:
    return [(m.kind, m.x, m.y, m.judges) for m in climb.moves]


@settings(deadline=None, max_examples=10)
@given(seed=st.integers(0, 10_000))
def test_scores_over_all_blocks_and_over_each_are_those_of_the_open_run(seed: int) -> None:
    """Of one site alone both are the same: its own score is rounded, the shared one is not."""
    sites = blocks(np.random.default_rng(seed))
    known, _ = known_to_the_server(sites)
    own, opened = columns_of(sites, SCHEMA), of_numbers(sites, SCHEMA, DAG.empty(SCHEMA.names))
    for family in sorted(known.told):
        every = opened.judges([family])
        for block in [every, *({s for s in every if own[s] == own[first]} for first in every)]:
            judges = tuple(sorted(block))
            there = opened.known.both(family, judges)
            assert known.both(family, judges) == pytest.approx(there, abs=1e-6)


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 10_000))
def test_every_block_has_the_sums_of_its_sites_alone(seed: int) -> None:
    """And two of its sites may exchange their tables: no sum says which is whose."""
    sites = blocks(np.random.default_rng(seed))
    known, seen = known_to_the_server(sites)
    own = columns_of(sites, SCHEMA)
    for first, scatter in known.scatters.items():
        alike = [scatter_of_table(sites[name]) for name in sites if own[name] == own[first]]
        assert scatter.rows == sum(each.rows for each in alike)
        exact = sum_of_scatters(alike).products
        most = np.sqrt(np.max([np.diag(each.products) for each in alike], axis=0))
        off = np.abs(scatter.products - exact)
        stated = len(sites) * 2.0 ** ((len(sites) - 1).bit_length() - 58) * np.outer(most, most)
        assert (off <= stated + 2.0**-52 * np.abs(exact)).all()
    one, other = "s00", "s01"
    exchanged = sites | {one: sites[other], other: sites[one]}
    _, again = known_to_the_server(exchanged)
    for before, after in zip(seen, again, strict=True):
        assert before.tolist() == after.tolist()


def test_what_is_asked_of_no_block_or_of_too_many_cells_is_refused() -> None:
    sites = blocks(np.random.default_rng(2))
    among, table = answering(sites), sites["s00"]
    size = levels_in(among)
    for wrong in ((1,) * (size - 1), (1,) * (size + 1)):
        with pytest.raises(MessageError, match=f"server: there must be a level of {size} columns"):
            own_sums(ScatterRequest(wrong), table, among)
    wide = Schema.gaussian([f"v{i:04}" for i in range(2000)])
    blocks_of_all_but_one = [[v for v in range(2000) if v != k] for k in range(10)]
    many = Answering.of(wide, 10, blocks_of_all_but_one)
    with pytest.raises(DataError, match="at most 5000000 cells, not 199"):
        own_sums(SizeRequest(), Dataset(wide, np.zeros((1, 2000))), many)
