"""No output breaks the knowledge: random cases through everything that makes a structure.

FEDBN_TWIN_CASES=5000 for a long run.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import fedbn as fb
from fedbn.data.dataset import Dataset, Schema
from fedbn.data.schema import Variable
from fedbn.federation.rounds import server_round, update_clients
from fedbn.federation.secure_rounds import voted_consensus
from fedbn.federation.settings import ConsensusSettings
from fedbn.federation.state import ClientReply, ServerState
from fedbn.graphs.dag import DAG
from fedbn.graphs.knowledge import Knowledge
from fedbn.graphs.random import random_dag
from fedbn.learners import LEARNERS as LEARNERS_THAT_ARE
from fedbn.results.groups import with_groups
from fedbn.results.outcome import Outcome
from fedbn.secure.answers import answer
from fedbn.secure.path import secure_path, secure_votes
from fedbn.secure.selection import secure_consensus
from simulations.cli import app
from tests.naive_knowledge import keeps

pytestmark = pytest.mark.filterwarnings(
    "ignore::fedbn.errors.FedbnWarning"
)  # limits that learners meet

CASES = int(os.environ.get("FEDBN_TWIN_CASES", "8"))
METHODS = ("union", "intersection", "vote", "median")
SLOW_METHODS = ("genetic-union", "genetic-inputs")
ON_ANY_SCORE = ("ges", "xges0", "xges", "ils", "boss", "hc", "optimal", "ordering", "cg-dca",
                "bootstrap")  # fmt: skip
LEARNERS = (*ON_ANY_SCORE, "credible")
SCORES = {
    "categorical": ("bdeu", "bic", "aic"),
    "gaussian": ("gaussian-bic", "gaussian-aic", "bge"),
    "mixed": ("mixed-bic", "mixed-aic"),
}


def random_knowledge(names: tuple[str, ...], rng: np.random.Generator) -> Knowledge:
    """Pairs and tiers along a hidden order."""
    place = [names[i] for i in rng.permutation(len(names))]
    required, forbidden = [], []
    shares = rng.dirichlet([1.0, 1.0, 1.0, 6.0])
    for late in range(len(place)):
        for early in range(late):
            kind = rng.choice(4, p=shares)
            ahead, back = (place[early], place[late]), (place[late], place[early])
            if kind == 0 and rng.random() < 0.4:
                required.append(ahead)
            elif kind in (0, 1):
                forbidden.append(back)
            elif kind == 2:
                forbidden += [ahead, back]
    tiers: list[tuple[str, ...]] = []
    if rng.random() < 0.5:
        cuts = sorted(rng.choice(len(place) + 1, size=3).tolist())
        tiers = [tuple(place[a:b]) for a, b in zip([0, *cuts], [*cuts, None], strict=True)]
        tiers = [tier for tier in tiers if tier and rng.random() < 0.8]
    return Knowledge(tuple(required), tuple(forbidden), tuple(tiers))


def random_sites(
    rng: np.random.Generator,
) -> tuple[tuple[str, ...], dict[str, DAG], Knowledge]:
    names = tuple("abcdefg"[: int(rng.integers(2, 8))])
    most = len(names) * (len(names) - 1) // 2
    base = random_dag(names, edges=int(rng.integers(0, most + 1)), rng=rng)
    sites = {}
    for k in range(int(rng.integers(1, 6))):
        other = random_dag(names, edges=int(rng.integers(0, most + 1)), rng=rng)
        sites[f"s{k}"] = base if rng.random() < 0.4 else other
    return names, sites, random_knowledge(names, rng)


def structures_of(outcome: Outcome) -> Iterator[DAG]:
    yield outcome.consensus.dag
    yield outcome.path.union
    for state in outcome.consensus.states:
        yield state.dag
    if outcome.grouping is not None:
        yield from outcome.grouping.consensuses
        yield outcome.grouping.core.dag


def summed(search, dags: list[DAG]):
    try:
        request = next(search)
        while True:
            request = search.send(np.sum([answer(request, [d], [1]) for d in dags], axis=0))
    except StopIteration as end:
        return end.value


@pytest.mark.parametrize("part", range(4))
@pytest.mark.slow
def test_fusions_keep_the_knowledge(part: int) -> None:
    for case in range(part, CASES, 4):
        rng = np.random.default_rng([20, case])
        names, sites, known = random_sites(rng)
        for dag in fused(case, names, sites, known, rng):
            assert keeps(dag, known), (case, known.breaches(dag))


def fused(case, names, sites, known, rng) -> Iterator[DAG]:
    """What every way to fuse these sites makes."""
    k_max, seed = int(rng.integers(0, 4)), case if case % 2 else None
    reading = ("best", "search", "refusion")[case % 3]
    more = {"k_max": k_max, "reading": reading, "seed": seed, "quorum": 1 + case % 2 * (case % 3)}
    more["quorum"] = min(more["quorum"], len(sites))
    yield from structures_of(fb.fuse(sites, knowledge=known, **more).outcome)
    method = METHODS[case % 4] if case % 40 != 39 else SLOW_METHODS[case // 40 % 2]
    yield fb.fuse(sites, knowledge=known, fusion=method, seed=case).dag
    replies = [ClientReply(site, (dag,), (1.0,), "complete") for site, dag in sites.items()]
    schema = Schema.categorical(dict.fromkeys(names, "01"))
    groups = "auto" if case % 2 else "no"
    rule = ConsensusSettings(known=known, groups=groups, k_max=k_max, max_edges_ratio=None)
    state = server_round(ServerState(schema, len(replies)), replies, (), rule)
    if len(sites) > 1:
        after = update_clients(state, rule, removed=["s0"])
        yield from structures_of(with_groups(Outcome.of_federation(after.result), rule))
    yield from structures_of(with_groups(Outcome.of_federation(state.result), rule))
    if case % 3 == 0:
        dags = list(sites.values())
        path = summed(secure_path(names, len(dags), 1, k_max=k_max, knowledge=known), dags)
        branch, consensus = secure_consensus(path)
        yield from (branch.union, consensus.dag, *(s.dag for s in consensus.states))
        yield voted_consensus(summed(secure_votes(names, len(dags), 1), dags), known).dag


def random_table(kind: str, rng: np.random.Generator, gaps: bool = False) -> Dataset:
    """Sixty rows of five variables that depend on those before them; one cell in ten may lack."""
    names = tuple("abcde")
    mixing = np.triu(rng.random((5, 5)) < 0.5, k=1)
    rows = rng.normal(size=(60, 5))
    for v in range(1, 5):
        rows[:, v] += 2.0 * rows[:, mixing[:, v]].sum(axis=1)
    states = (rows > 0).astype(float)
    gone = rng.random(rows.shape) < 0.1 if gaps else None
    if kind == "categorical":
        return Dataset(
            Schema.categorical(dict.fromkeys(names, "01")), states.astype(np.int32), gone
        )
    if kind == "gaussian":
        return Dataset(Schema.gaussian(names), rows, gone)
    some = np.array([True, False, True, False, True])
    columns = tuple(
        Variable(name, tuple("01")) if own else Variable(name)
        for name, own in zip(names, some, strict=True)
    )
    return Dataset(Schema(columns), np.where(some, states, rows))


@pytest.mark.parametrize("part", range(2))
@pytest.mark.slow
def test_learners_keep_the_knowledge(part: int) -> None:
    """Every learner that takes knowledge, every kind of table, with missing cells and without."""
    kinds = ("categorical", "gaussian", "mixed", "categorical", "gaussian")
    taking = [
        name for name in LEARNERS_THAT_ARE if "knowledge" in LEARNERS_THAT_ARE.find(name).uses
    ]
    assert sorted(taking) == sorted(LEARNERS)
    for case in range(part, max(2 * len(LEARNERS), CASES), 2):
        rng = np.random.default_rng([23, case])
        kind = kinds[case % 5]
        learner = LEARNERS[case // 2 % len(LEARNERS)]
        dataset = random_table(kind, rng, gaps=case % 5 > 2)
        known = random_knowledge(dataset.names, rng)
        score = SCORES[kind][case // 5 % len(SCORES[kind])]
        found = fb.learn(dataset, learner, score=score, knowledge=known, seed=case)
        for dag in found.dags:
            assert keeps(dag, known), (case, learner, score, known.breaches(dag))


@pytest.mark.parametrize("part", range(2))
@pytest.mark.slow
def test_federations_keep_the_knowledge(part: int) -> None:
    """Tables of every kind, some with missing cells; counts and climbs where there are counts."""
    for case in range(part, max(12, CASES // 5), 2):
        rng = np.random.default_rng([21, case])
        kind = ("categorical", "categorical", "mixed", "categorical", "gaussian")[case % 5]
        gaps = case % 7 == 3 and kind != "mixed"
        tables = {f"s{k}": random_table(kind, rng, gaps) for k in range(3)}
        known = random_knowledge(tuple("abcde"), rng)
        countable = kind == "categorical" and not gaps
        choose = ("climb", "smhd", "climb", "counts")[case % 4] if countable else "smhd"
        rule = ConsensusSettings(
            choose=choose, min_replies=1, count_rounds=int(rng.integers(0, 11))
        )
        learner = LEARNERS[case % len(LEARNERS)]
        found = fb.simulate(
            tables, learner=learner, knowledge=known, consensus=rule, rounds=1 + case % 2
        )
        for dag in structures_of(found.outcome):
            assert keeps(dag, known), (case, known.breaches(dag))
        for reply in found.result.replies:
            assert all(keeps(dag, known) for dag in reply.dags), (case, learner)


def edges_in(folder: Path) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """The edges that every file of a results folder says are those of a consensus."""
    for file in [folder / "consensus.csv", *sorted(folder.glob("groups/*.csv"))]:
        with file.open(encoding="utf-8", newline="") as lines:
            yield file.name, [(row["parent"], row["child"]) for row in csv.DictReader(lines)]
    for name in ("consensus.json",):
        yield name, [tuple(edge) for edge in json.loads((folder / name).read_text())["edges"]]


@pytest.mark.slow
def test_the_files_of_commands_keep_the_knowledge(tmp_path: Path) -> None:
    rng = np.random.default_rng(22)
    names = tuple("abcde")
    known = Knowledge((("a", "b"),), (("c", "d"), ("d", "c")), (("a",), ("b", "c"), ("e",)))
    (tmp_path / "known.json").write_text(known.text)
    files = []
    for k in range(4):
        dag = random_dag(names, edges=6, rng=rng)
        files.append(tmp_path / f"s{k}.csv")
        files[-1].write_text("parent,child\n" + "".join(f"{a},{b}\n" for a, b in dag.edges))
    out, told = tmp_path / "fused", ["--knowledge", str(tmp_path / "known.json"), "--quiet"]
    given = [*map(str, files), "--nodes", ",".join(names), "--out", str(out)]
    run(["fuse", *given, *told, "--groups", "2", "--polish"])
    require_kept(out, known)
    run(["fuse", *given, *told, "--method", "genetic-union"])
    require_kept(out, known)
    table = tmp_path / "table.csv"
    rows = rng.integers(0, 2, (200, 5))
    rows[:, 4] = rows[:, 2] ^ rows[:, 3]
    table.write_text(",".join(names) + "\n" + "\n".join(",".join(map(str, r)) for r in rows))
    simulated = ["simulate", "--table", str(table), "--clients", "3", "--engine", "in-process"]
    options = ("--choose climb", "--aggregation secure-sums", "--groups 2 --learner xges0")
    for more in map(str.split, options):
        run([*simulated, *told, *more, "--out", str(tmp_path / "run"), "--no-pooled"])
        require_kept(tmp_path / "run", known)
    other = Knowledge(tiers=(("e",), ("a", "b", "c", "d")))
    (tmp_path / "other.json").write_text(other.text)
    run(["update", str(tmp_path / "run"), "--knowledge", str(tmp_path / "other.json"),
         "--out", str(tmp_path / "updated"), "--quiet"])  # fmt: skip
    require_kept(tmp_path / "updated", other)


def run(arguments: list[str]) -> None:
    from typer.testing import CliRunner

    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output


def require_kept(folder: Path, known: Knowledge) -> None:
    names = tuple(json.loads((folder / "consensus.json").read_text())["nodes"])
    for file, edges in edges_in(folder):
        assert keeps(DAG.from_edges(names, edges), known), file
    with (folder / "consensus.cpdag.csv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    directed = {(row["from"], row["to"]) for row in rows if row["directed"] != "open"}
    opened = {(row["from"], row["to"]) for row in rows if row["directed"] == "open"}
    barred = known.forbidden_matrix(names)
    assert all(not barred[names.index(a), names.index(b)] for a, b in directed)
    assert all(
        not barred[names.index(a), names.index(b)] and not barred[names.index(b), names.index(a)]
        for a, b in opened
    )
    assert set(known.required) <= directed
