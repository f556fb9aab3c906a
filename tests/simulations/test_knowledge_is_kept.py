"""No output breaks the knowledge: random cases through everything that makes a structure.

FEDBN_TWIN_CASES=5000 for a long run.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterator
from pathlib import Path
from shutil import rmtree

import numpy as np
import pytest

import fedbn as fb
from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema, Variable
from fedbn.federation.rounds import server_round, update_clients
from fedbn.federation.secure_rounds import voted_consensus
from fedbn.federation.settings import ConsensusSettings
from fedbn.federation.state import ClientReply, ServerState
from fedbn.graphs.dag import DAG
from fedbn.graphs.knowledge import Knowledge
from fedbn.graphs.random import random_dag
from fedbn.learners import LEARNERS as LEARNERS_THAT_ARE
from fedbn.networks.catalog import load_network
from fedbn.networks.conditional_gaussian import ConditionalGaussianNetwork
from fedbn.results.groups import with_groups
from fedbn.results.outcome import Outcome
from fedbn.secure.answers import answer
from fedbn.secure.path import secure_path, secure_votes
from fedbn.secure.selection import secure_consensus
from simulations.cli import app
from tests.naive_knowledge import keeps

pytestmark = [
    pytest.mark.filterwarnings("ignore::fedbn.errors.FedbnWarning"),  # limits that learners meet
    pytest.mark.usefixtures("solvers_here"),
]

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
NUMBERS = {"categorical": (), "gaussian": (), "mixed": ("--numbers", "b,d")}


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
    for case in range(part, max(12, CASES), 2):
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


@pytest.mark.parametrize("part", range(2))
@pytest.mark.slow
def test_commands_keep_the_knowledge(part: int, tmp_path: Path) -> None:
    """Random commands with random options on small tables and structures."""
    commands = (fuse_files, learn_table, fuse_files, bootstrap_table, simulate_and_update)
    for case in range(part, max(10, CASES), 2):
        rng = np.random.default_rng([24, case])
        folder = tmp_path / f"{case}"
        folder.mkdir()
        commands[case // 2 % len(commands)](folder, rng)
        rmtree(folder)


def fuse_files(folder: Path, rng: np.random.Generator) -> None:
    names, sites, known = random_sites(rng)
    files = [write_dag(dag, folder / site, rng) for site, dag in sites.items()]
    given = ["fuse", *files, "--nodes", ",".join(names), *knowing(known, folder)]
    method = rng.choice(["mcbnc", "mcbnc", "mcbnc", *METHODS])
    if method != "mcbnc":
        given += ["--method", method]
    else:
        groups = rng.choice(["no", "auto", "1", "2", "file"])
        if groups == "file":
            (folder / "groups.csv").write_text(
                "site,group\n" + "".join(f"{site},{rng.integers(2)}\n" for site in sites)
            )
            given += ["--groups-file", str(folder / "groups.csv")]
        elif groups != "2" or len(sites) > 1:
            given += ["--groups", groups]
        given += some(rng, ["--reading", rng.choice(["search", "refusion", "best"])])
        given += some(rng, ["--robust", rng.choice(["mean", "clip", "median", "best"])])
        given += some(rng, ["--theta", rng.choice(["0", "1/2", "1", "7"])])
        given += some(rng, ["--quorum", str(rng.integers(1, len(sites) + 1))])
        given += some(rng, ["--site-rows", ",".join(str(rng.integers(50, 5000)) for _ in sites)])
        given += some(rng, ["--polish"]) + some(rng, ["--random-ties"])
    if rng.random() < 0.5:
        found = json.loads(run([*given, "--json"]))
        require_edges(names, found["edges"], known, given)
        return
    out = folder / "fused"
    run([*given, "--out", str(out), "--quiet"])
    require_kept(out, known)


def learn_table(folder: Path, rng: np.random.Generator) -> None:
    kind = rng.choice(list(SCORES))
    table, known = write_table(kind, folder, rng), random_knowledge(tuple("abcde"), rng)
    learner = rng.choice(LEARNERS)
    out = folder / f"learned{rng.choice(['.csv', '.json'])}"
    given = ["learn", table, *knowing(known, folder), "--learner", learner, "--quiet"]
    given += ["--score", rng.choice(SCORES[kind]), *NUMBERS[kind], *some(rng, ["--seed", "7"])]
    run([*given, "--out", str(out)])
    require_edges(tuple("abcde"), edges_of(out), known, given)


def bootstrap_table(folder: Path, rng: np.random.Generator) -> None:
    kind = rng.choice(["categorical", "gaussian"])
    table, known = write_table(kind, folder, rng), random_knowledge(tuple("abcde"), rng)
    given = ["bootstrap", table, *knowing(known, folder), "--replicates", "3", "--quiet"]
    given += ["--score", rng.choice(SCORES[kind])]
    given += ["--learner", rng.choice(["ges", "xges", "hc"])]
    given += some(rng, ["--threshold", rng.choice(["0", "0.4", "1"])])
    run([*given, "--out", str(folder / "averaged.json")])
    require_edges(tuple("abcde"), edges_of(folder / "averaged.json"), known, given)


def simulate_and_update(folder: Path, rng: np.random.Generator) -> None:
    kind = rng.choice(["categorical", "categorical", "gaussian", "mixed"])
    table, known = write_table(kind, folder, rng), random_knowledge(tuple("abcde"), rng)
    out = folder / "run"
    given = ["simulate", "--table", table, "--clients", "3", "--engine", "in-process", "--quiet"]
    given += [*knowing(known, folder), "--no-pooled", "--out", str(out)]
    learner = rng.choice(LEARNERS)
    given += ["--learner", learner, "--score", rng.choice(SCORES[kind]), *NUMBERS[kind]]
    way = rng.choice(["open", "open", "secure-sums", "moral-votes"])
    if way != "open":
        given += ["--aggregation", way]
    else:
        given += ["--groups", rng.choice(["no", "auto", "2"])]
        given += some(rng, ["--rounds", "2"]) + some(rng, ["--parameters", "federated"])
        given += some(rng, ["--choose", rng.choice(["counts", "climb"])])
        if kind == "categorical" and learner not in ("bootstrap", "credible"):
            given += some(rng, ["--row-weight", "ladder"])  # of these two, too many for a reply
    run(given)
    require_kept(out, known)
    if way == "open":
        sites = [row["client"] for row in rows_of(out / "clients.csv")]
        update_folder(out, "ladder" in given, sites, folder, rng)


def update_folder(
    results: Path, ladder: bool, sites: list[str], folder: Path, rng: np.random.Generator
) -> None:
    names = tuple("abcde")
    other = random_knowledge(names, rng)
    given = ["update", str(results), *knowing(other, folder), "--quiet"]
    if len(sites) > 2:
        given += some(rng, ["--remove", str(rng.choice(sites))])
    dag = random_dag(names, edges=int(rng.integers(0, len(names))), rng=rng)
    if not ladder:
        given += some(rng, ["--add", write_dag(dag, folder / "newcomer", rng, ".json")])
    run([*given, "--out", str(folder / "updated")])
    require_kept(folder / "updated", other)


def some(rng: np.random.Generator, options: list[str]) -> list[str]:
    """The options, or none of them."""
    return [str(word) for word in options] if rng.random() < 0.3 else []


def knowing(known: Knowledge, folder: Path) -> list[str]:
    file = folder / "known.json"
    file.write_text(known.text)
    return ["--knowledge", str(file)]


def write_dag(dag: DAG, stem: Path, rng: np.random.Generator, ending: str | None = None) -> str:
    file = stem.with_suffix(ending or str(rng.choice([".csv", ".json"])))
    if file.suffix == ".csv":
        file.write_text("parent,child\n" + "".join(f"{a},{b}\n" for a, b in dag.edges))
    else:
        file.write_text(json.dumps({"nodes": list(dag.names), "edges": list(dag.edges)}))
    return str(file)


def write_table(kind: str, folder: Path, rng: np.random.Generator) -> str:
    """The table of `random_table` as a CSV file; a category is a letter."""
    dataset = random_table(kind, rng)
    letters = [variable.states is not None for variable in dataset.schema.variables]
    lines = [
        ",".join(
            ("no", "yes")[int(cell)] if letter else f"{cell:.6f}"
            for cell, letter in zip(row, letters, strict=True)
        )
        for row in dataset.table.tolist()
    ]
    (folder / "table.csv").write_text("\n".join([",".join(dataset.names), *lines]) + "\n")
    return str(folder / "table.csv")


def run(arguments: list[str]) -> str:
    from typer.testing import CliRunner

    result = CliRunner().invoke(app, [str(word) for word in arguments], catch_exceptions=False)
    assert result.exit_code == 0, (arguments, result.output)
    return result.stdout


def rows_of(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def edges_of(file: Path) -> list[tuple[str, str]]:
    if file.suffix == ".csv":
        return [(row["parent"], row["child"]) for row in rows_of(file)]
    return [tuple(edge) for edge in json.loads(file.read_text(encoding="utf-8"))["edges"]]


def require_edges(names: tuple[str, ...], edges: object, known: Knowledge, told: object) -> None:
    dag = DAG.from_edges(names, [tuple(edge) for edge in edges])  # type: ignore[attr-defined]
    assert keeps(dag, known), (told, known.breaches(dag))


def require_kept(folder: Path, known: Knowledge) -> None:
    """Every file of a results folder that holds a structure keeps the knowledge."""
    names = tuple(json.loads((folder / "consensus.json").read_text())["nodes"])
    files = [folder / "consensus.csv", folder / "consensus.json", *folder.glob("groups/group-*")]
    for file in (file for file in files if file.suffix in {".csv", ".json"}):
        require_edges(names, edges_of(file), known, file)
    for file in [*folder.glob("network.json"), *folder.glob("groups/network-*.json")]:
        network = load_network(file)
        if not isinstance(network, ConditionalGaussianNetwork):  # which may have to turn edges
            assert keeps(network.dag, known), file
    rows = rows_of(folder / "consensus.cpdag.csv")
    directed = {(row["from"], row["to"]) for row in rows if row["directed"] != "open"}
    opened = {(row["from"], row["to"]) for row in rows if row["directed"] == "open"}
    barred = known.forbidden_matrix(names)
    for file in [folder / "consensus.csv", *folder.glob("groups/*.csv")]:
        for row in rows_of(file):
            back = barred[names.index(row["child"]), names.index(row["parent"])]
            assert not (back and row["directed"] == "open"), (file, row)
    both = opened | {(b, a) for a, b in opened}
    assert all(not barred[names.index(a), names.index(b)] for a, b in directed | both)
    assert set(known.required) <= directed
