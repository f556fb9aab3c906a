"""Secure sums from end to end on the in-process grid: equality, refusals, losses, what is seen."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.app import Error, Message

from fedbn.data.tables import write_table
from fedbn.errors import ConfigError, QuorumError
from fedbn.federation.disclosure_log import read_log
from fedbn.federation.run_config import to_run_config
from fedbn.federation.secure_rounds import SecureResult, statements
from fedbn.federation.settings import ConsensusSettings, Experiment
from fedbn.graphs.dag import DAG
from fedbn.graphs.writing import write_structure
from fedbn.learners import LearnerSettings
from fedbn.results.sums import write_sums
from fedbn.secure.past_cohorts import read_cohorts
from fedbn.secure.question_order import Asked
from server.secure_sums import KEYS, SUMS
from server.server_app import federate, run_and_write
from simulations.in_process_grid import InProcessGrid
from simulations.run import node_configs, run_experiment
from simulations.sites.tables import simulation
from tests.clients.deployed import known_to_each_other, prepared_nodes

OPEN = Experiment.of(network="asia", rows=300, clients=3, engine="in-process", seed=4)
SUMMED = OPEN.change(aggregation="secure-sums")
VOTED = OPEN.change(aggregation="moral-votes")


def grid_of(experiment: Experiment, **options: Any) -> InProcessGrid:
    return InProcessGrid(
        to_run_config(experiment), node_configs(experiment.data.clients), **options
    )


def structures(run: Any, folder: Path) -> bytes:
    write_structure(run.result.consensus.dag, folder / "dag.json")
    return (folder / "dag.json").read_bytes()


@pytest.mark.parametrize(
    "learner", [LearnerSettings(), LearnerSettings("bootstrap", replicates=4)], ids=["ges", "many"]
)
def test_the_consensus_is_that_of_the_open_run(learner: LearnerSettings, tmp_path: Path) -> None:
    runs = [run_experiment(e.change(learner=learner)) for e in (OPEN, SUMMED)]
    opened, summed = runs
    assert structures(opened, tmp_path) == structures(summed, tmp_path)
    for figure in ("mean_smhd", "lower_bound", "gap", "theta", "reading", "pooling"):
        assert getattr(opened.result.consensus, figure) == getattr(summed.result.consensus, figure)
    assert summed.result.clients == ("client 1", "client 2", "client 3")
    assert summed.result.cost.rounds == summed.result.path.rounds + 1


def test_moral_votes_take_one_round() -> None:
    result = run_experiment(VOTED).result
    assert isinstance(result, SecureResult)
    assert result.cost.rounds == 2  # with that of the keys
    assert result.cost.up == 2 * 8 * 7 // 2  # words of 16 bits
    opened = run_experiment(OPEN).result.consensus
    assert result.consensus.lower_bound == opened.lower_bound
    assert result.consensus.gap >= 0
    assert len(statements(result)[0]) < 200
    colluding = "colludes with 2 of the 3 sites can subtract their parts from every sum"
    assert colluding in statements(result)[-2]


def recorded(experiment: Experiment, fault: Any = None) -> list[tuple[int, bytes]]:
    """(node, bytes) of every masked vector that reaches the server."""
    seen: list[tuple[int, bytes]] = []

    def watch(node: int, reply: Message) -> Message | None:
        if reply.has_content() and "sums" in reply.content:
            seen.append((node, reply.content["sums"]["masked"].data))
        return reply if fault is None else fault(node, reply, len(seen))

    federate(grid_of(experiment, fault=watch), experiment)
    return seen


def test_a_lost_reply_is_asked_for_again_and_is_the_same() -> None:
    def lose(node: int, reply: Message, count: int) -> Message | None:
        return None if count in (5, 11) else reply

    seen = recorded(SUMMED, lose)
    lost = seen[4], seen[10]
    assert all(seen.count(vector) == 2 for vector in lost)
    assert len(seen) == len(set(seen)) + 2


@pytest.mark.parametrize("gone", [False, True])
def test_a_missing_site_ends_the_run_and_is_named(gone: bool) -> None:
    def lose(node: int, reply: Message, count: int) -> Message | None:
        if node != 3 or count < 10:
            return reply
        return Message(Error(code=5, reason="gone"), reply_to=reply) if gone else None

    with pytest.raises(QuorumError, match="client 2 did not, after 4 requests"):
        recorded(SUMMED, lose)


def test_too_few_sites_are_refused() -> None:
    with pytest.raises(QuorumError, match="min-cohort"):
        run_experiment(SUMMED.change(clients=2))


def reachable(start: list[Any]) -> list[Any]:
    """All that can be reached from these objects, but for modules, classes and functions."""
    seen: dict[int, Any] = {}
    waiting = list(start)
    while waiting:
        found = waiting.pop()
        if id(found) in seen or isinstance(found, (type, Callable, type(json))):
            continue
        seen[id(found)] = found
        waiting += gc.get_referents(found)
    return list(seen.values())


def test_the_server_never_holds_a_structure_or_an_unmasked_vector(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import fedbn.secure.site as site
    import server.secure_sums as server

    own, vectors, held = [], [], []
    answer, ask = site.answer, server.Cohort.ask

    def watched(request: Any, dags: Any, *more: Any) -> Any:
        own.extend(dags)
        vectors.append(answer(request, dags, *more))
        return vectors[-1]

    def asked(cohort: Any, category: str, contents: Any) -> Any:
        answers = ask(cohort, category, contents)
        everything = reachable([contents, answers, cohort.clients, cohort.seconds])
        held.extend(o for o in everything if isinstance(o, (DAG, np.ndarray, bytes)))
        return answers

    monkeypatch.setattr(site, "answer", watched)
    monkeypatch.setattr(server.Cohort, "ask", asked)
    result = federate(grid_of(SUMMED), SUMMED).result
    held += [o for o in reachable([result]) if isinstance(o, (DAG, np.ndarray))]
    dags = [o for o in held if isinstance(o, DAG)]
    arrays = {o.tobytes() for o in held if isinstance(o, np.ndarray) and o.size > 8}
    texts = [o for o in held if isinstance(o, bytes)]
    assert own
    assert vectors
    assert not [dag for dag in dags if dag in own and dag != result.consensus.dag]
    for vector in vectors:
        told_openly = vector.size > 8 and vector.any()
        assert not (told_openly and vector.tobytes() in arrays)
        assert not (told_openly and any(vector.tobytes() in text for text in texts))


# --- deployed sites: their own files -----------------------------------------------------------


def deployed(folder: Path, names: tuple[str, ...], **policy: Any) -> list[dict[str, str]]:
    """Node configs of sites that know each other by signed keys."""
    known = known_to_each_other(folder, names)
    sites = simulation(OPEN.change(clients=len(names))).sites
    limits = "".join(f"{key.replace('_', '-')} = {value}\n" for key, value in policy.items())
    for (name, (first, last)), site in zip(known.items(), sites, strict=True):
        write_table(site.dataset, folder / f"{name}.csv")
        text = f"{first}[policy]\nmin-state-rows = 0\n{limits}{last}"
        (folder / f"{name}.toml").write_text(text)
    return prepared_nodes(folder, names)


def run_deployed(
    configs: list[dict[str, str]], experiment: Experiment, **options: Any
) -> SecureResult:
    plain = experiment.change(network=None, connect_seconds=0.0, min_replies=len(configs))
    return federate(InProcessGrid(to_run_config(plain), configs, **options), plain).result


def test_sites_that_know_each_other(tmp_path: Path) -> None:
    configs = deployed(tmp_path, ("east", "north", "south"), secure_sums="true")
    result = run_deployed(configs, SUMMED)
    assert result.signed
    assert "Semi-honest" not in " ".join(statements(result))
    assert result.clients == ("east", "north", "south")
    cohorts = read_cohorts(tmp_path / "east.csv.cohorts.jsonl")
    assert [cohort for _, cohort in cohorts] == [frozenset(result.clients)]
    _, *log = read_log(tmp_path / "east.csv.disclosures.jsonl").entries  # that of the contract
    assert len(log) == 1 + result.cost.rounds  # with that of the columns
    assert log[1].words == "public key of this run"
    assert log[2].words == "share of a masked sum: 35 integers, costs of an order"
    assert log[-1].words.endswith("votes on pairs")
    with pytest.raises(QuorumError, match="secure-sums"):
        run_deployed(configs, OPEN)
    fewer = [config for config in configs if "south" not in config["data-path"]]
    with pytest.raises(QuorumError, match="min-cohort"):
        run_deployed(fewer, SUMMED)


def test_a_stranger_or_a_replaced_key_is_refused(tmp_path: Path) -> None:
    configs = deployed(tmp_path, ("east", "north", "south", "west"))

    def replaced(node: int, reply: Message) -> Message:
        if node == 3 and reply.has_content() and "keys" in reply.content:
            reply.content["keys"]["public"] = bytes(range(32))
        return reply

    with pytest.raises(QuorumError, match="refused by this site's policy: cohort"):
        run_deployed(configs, SUMMED, fault=replaced)
    for config in configs[:3]:  # they do not know west any more
        text = Path(config["policy"]).read_text()
        kept = "\n".join(line for line in text.splitlines() if not line.startswith("west"))
        Path(config["policy"]).write_text(kept)
    with pytest.raises(QuorumError, match="refused by this site's policy: cohort"):
        run_deployed(configs, SUMMED)


def test_company_that_lost_one_member_is_refused(tmp_path: Path) -> None:
    names = ("east", "north", "south", "west")
    configs = deployed(tmp_path, names)
    for config in configs:
        text = Path(config["policy"]).read_text()
        Path(config["policy"]).write_text(text[: text.index("[peers]")])
    run_deployed(configs, VOTED)
    run_deployed(configs, VOTED)
    with pytest.raises(QuorumError, match="cohort-changed"):
        run_deployed(configs[:3], VOTED)


def test_results_leave_out_what_needs_a_site_s_structure(tmp_path: Path) -> None:
    experiment = SUMMED.change(out_dir=str(tmp_path / "out"))
    run_and_write(grid_of(experiment), experiment)
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"consensus.json", "path.csv", "run.json", "sums.json", "learned.txt"} <= names
    assert not names & {"edges.csv", "clients.csv", "state.json"}
    learned = (tmp_path / "out" / "learned.txt").read_text()
    assert "Semi-honest server" in learned
    assert "Differential privacy is not claimed" in learned
    sums = json.loads((tmp_path / "out" / "sums.json").read_text())
    assert sums["cost"]["rounds"] > 3
    voted = federate(grid_of(VOTED), VOTED).result
    write_sums(voted, tmp_path / "voted", run={})
    names = {path.name for path in (tmp_path / "voted").iterdir()}
    assert "path.csv" not in names
    assert "consensus.json" in names


def test_a_sum_that_was_never_begun_is_refused() -> None:
    grid = grid_of(SUMMED)
    from flwr.app import ConfigRecord, RecordDict

    content = RecordDict({"sums": ConfigRecord({"request": b"{}"})})
    (reply,) = grid.send_and_receive([Message(content, 2, SUMS)])
    assert reply.error.reason == "refused by this site's policy: query"
    assert Asked().number == 0
    assert KEYS == "query.keys"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"rounds_limit": 2}, "rounds-limit must be 1"),
        ({"resume": True}, "keeps no checkpoint"),
        ({"row_weight": "ladder"}, "one row weight"),
    ],
)
def test_settings_that_do_not_go_together(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        SUMMED.change(**change)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"robust": "median"}, "no median"),
        ({"look_ahead": 17}, "look-ahead"),
        ({"aggregation": "secure"}, "did you mean 'secure-sums'"),
        ({"vote_quorum": 0}, "vote-quorum"),
        ({"quorum": 2}, "use vote-quorum"),
    ],
)
def test_settings_of_sums(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        ConsensusSettings(**{"aggregation": "secure-sums"} | change)
