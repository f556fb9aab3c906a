"""What an ordinary run read of a site whose file is the guide's own (issue 30)."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.app import Array, ArrayRecord, ConfigRecord, Context, Message, RecordDict

from fedbn.data.dataset import Schema
from fedbn.federation.disclosure_log import read_log
from fedbn.federation.message import StructureMessage, to_arrays
from fedbn.federation.run_config import to_run_config
from fedbn.federation.settings import Experiment
from fedbn.graphs.dag import DAG
from fedbn.learners import LearnerSettings
from fedbn.privacy.ledger import Ledger
from fedbn.secure.masks import Key, mask, pair_keys, request_digest
from fedbn.secure.requests import VoteRequest, to_bytes
from fedbn.secure.session import Member, Terms
from fedbn.secure.words import word_of
from tests.clients.attacks_on_sites import (
    answers_at_once,
    groups_by_failures,
    number_of,
    numbers_by_histograms,
    rows_by_differences,
    rows_by_skipped_lines,
    states_by_cuts,
    words_of_forms,
)
from tests.clients.deployed import ANSWERED, DeployedSite, task, word
from tests.clients.guide_files import FIRST_DECISIONS, FIRST_SITE

pytestmark = pytest.mark.filterwarnings("ignore::fedbn.errors.FedbnWarning")


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    logging.disable(logging.ERROR)
    yield
    logging.disable(logging.NOTSET)


def hospital(rows: int = 800) -> tuple[str, list[dict[str, float]]]:
    """A table with a record number, a date of birth and a laboratory value; and its numbers."""
    rng = np.random.default_rng(30)
    records = rng.permutation(np.arange(100_000, 100_000 + rows)).tolist()
    births = (19000101 + rng.integers(0, 99, rows) * 10_000 + rng.integers(0, 28, rows)).tolist()
    values = (rng.integers(10, 9_999, rows) / 64).tolist()
    smokes = rng.choice(["no", "yes"], rows).tolist()
    cells = list(zip(records, births, values, smokes, strict=True))
    lines = ["record,birth,value,smokes", *(",".join(map(str, row)) for row in cells), ""]
    numbers = [{"record": r, "birth": b, "value": v} for r, b, v, _ in cells]
    return "\n".join(lines), numbers


HISTOGRAM_POLICIES = {
    "guide": FIRST_SITE,
    "issue": FIRST_SITE.replace("min-rows = 100", "min-rows = 500\nmin-cell = 5"),
    "secure": FIRST_SITE + "secure-sums = true\n",
}


@pytest.mark.parametrize("name", HISTOGRAM_POLICIES)
def test_histograms_give_all_numbers_and_whole_rows(tmp_path: Path, name: str) -> None:
    text, rows = hospital()
    site = DeployedSite(tmp_path, text, HISTOGRAM_POLICIES[name])
    found = numbers_by_histograms(site)
    learned = {
        name: sum(number_of(bucket) in {row[name] for row in rows} for bucket in counts)
        for name, counts in found.items()
    }
    people = [rows[i] for i in range(0, 50, 10)]
    whole = rows_by_differences(site, found, [int(row["record"]) for row in people])
    assert learned["record"] == 800
    assert learned["value"] == len({row["value"] for row in rows})
    assert sum(number_of(next(iter([b]))) > 0 for b in found["birth"]) == len(found["birth"])
    assert [row["record"] for row in whole] == [row["record"] for row in people]
    assert [row["value"] for row in whole] == [row["value"] for row in people]


OFFERS = """
[offers]
learner = "ges"
score = "bdeu"
ess = 1
row-weight = 1
missing = []
"""


def wards(rows: int = 400) -> tuple[str, list[set[str]]]:
    """A table of categories beside a record number; and each row's categories."""
    rng = np.random.default_rng(2)
    choices = [[f"{name}{k}" for k in range(3)] for name in ("ward", "drug", "ill")]
    cells = [[str(rng.choice(states)) for states in choices] for _ in range(rows)]
    lines = [f"{100_000 + k},{','.join(row)}\n" for k, row in enumerate(cells)]
    return "record,ward,drug,illness\n" + "".join(lines), [set(row) for row in cells]


@pytest.mark.parametrize("offers", ["", OFFERS])
def test_lines_that_are_skipped_give_whole_rows(tmp_path: Path, offers: str) -> None:
    text, rows = wards()
    site = DeployedSite(tmp_path, text, FIRST_SITE + offers)
    found = rows_by_skipped_lines(site, range(1, 31))
    assert found == rows[:30]
    assert words_of_forms(site) != {"contract"}


def test_a_private_learner_is_an_oracle(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    groups = [f"g{i}" for i in range(30)]
    ill = {group: bool(rng.integers(2)) for group in groups}
    lines = [f"{group},no\n" * 6 + f"{group},{'yes' if ill[group] else 'no'}\n" for group in groups]
    table = "group,hiv\n" + "".join(lines)
    (tmp_path / "states.json").write_text(json.dumps({"group": groups, "hiv": ["no", "yes"]}))
    limit = "schema = 'states.json'\n[policy]\nmax-epsilon = 0.1\n"
    words = groups_by_failures(DeployedSite(tmp_path, table, limit), groups)
    assert {group: said == "failed" for group, said in words.items()} == ill
    assert not Ledger.read(tmp_path / "north.csv.privacy.jsonl").entries


def people(rows: int = 1200) -> tuple[str, list[tuple[float, str]]]:
    """A table of the guide's mappings, whose ages differ by 0.1; and (age, smoke) in order."""
    rng = np.random.default_rng(4)
    ages = [round(20 + k / 10, 1) for k in range(rows)]
    smokes = rng.choice(["ja", "nein"], rows).tolist()
    lines = [
        f"{k},{age},{state}\n" for k, (age, state) in enumerate(zip(ages, smokes, strict=True))
    ]
    agreed = {"ja": "yes", "nein": "no"}
    found = [(age, agreed[state]) for age, state in zip(ages, smokes, strict=True)]
    return "record_id,age,Raucher\n" + "".join(lines), found


def test_two_cut_points_give_the_person_between_them(tmp_path: Path) -> None:
    text, known = people()
    (tmp_path / "knowledge.json").write_text("{}")
    site = DeployedSite(tmp_path, text, FIRST_DECISIONS)
    wanted = range(300, 320)
    pairs = [(known[k - 1][0], known[k][0]) for k in wanted]
    found = states_by_cuts(site, pairs)
    assert found == [{known[k][1]} for k in wanted]


SECURE = "name = 'north'\n[policy]\nsecure-sums = true\nmin-cohort = 5\n"


def test_under_secure_sums_moments_are_in_the_open(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    table = "a,b\n" + "".join(f"{a},{b}\n" for a, b in rng.normal(size=(200, 2)).tolist())
    site = DeployedSite(tmp_path, table, f"{SECURE}counts = true\nkind = 'gaussian'\n")
    schema = Schema.gaussian(("a", "b"))
    dag = DAG.from_edges("ab", [("a", "b")])
    arrays = to_arrays(StructureMessage(schema.hash, ("a", "b"), (dag,), (1.0,), "complete"))
    content = task(schema)
    content["consensus"] = ArrayRecord({key: Array(array) for key, array in arrays.items()})
    run = Experiment.of(learner=LearnerSettings(score="bge"))
    assert word(site.send(run, "query.moments", content)) == ANSWERED


def moral_graph_of(site: DeployedSite) -> str:
    """Attack 5: the word, or the site's own votes, when all other keys are the server's."""
    run = Experiment.of(aggregation="moral-votes")
    schema = Schema.categorical({name: ["0", "1"] for name in "abc"})
    grid = InProcessGridOf(site, run)
    begin = task(schema)
    begin["task"]["run"] = "7"
    reply = grid.send("query.keys", begin)
    if reply.has_error():
        return word(reply)
    own = reply.content["keys"]["public"]
    keys = [Key.generate() for _ in range(4)]
    members = [Member("north", own.hex())]
    members += [Member(f"z{i}", key.public.hex()) for i, key in enumerate(keys)]
    members.sort(key=lambda member: (member.name, member.public))
    terms = Terms("7", schema.hash, "moral-votes", 1, 10, 1, (), tuple(members))
    request = VoteRequest(None, classes=False)
    data = to_bytes(request, terms.session, 1)
    asked = ConfigRecord({"request": data, "terms": terms.to_text()})
    reply = grid.send("train.sums", RecordDict({"sums": asked, "task": begin["task"]}))
    if reply.has_error():
        return word(reply)
    total = reply.content["sums"]["masked"].numpy()
    words = word_of(request, 3, 5, 1)
    for key in keys:
        pairs = pair_keys(key, terms.roster, terms.session)
        zeros = np.zeros(total.shape, dtype=np.int64)
        total = total + mask(zeros, pairs, request_digest(data), words)
    return " ".join(map(str, total.tolist()))


class InProcessGridOf:
    """One node's messages of one run, whose state Flower keeps between them."""

    def __init__(self, site: DeployedSite, run: Experiment) -> None:
        from simulations.in_process_grid import InProcessGrid

        self.grid = InProcessGrid(to_run_config(run), [site.node])

    def send(self, kind: str, content: RecordDict) -> Message:
        (node,) = self.grid.get_node_ids()
        (reply,) = self.grid.send_and_receive([Message(content, node, kind)])
        return reply

    def next_run(self, run: Experiment) -> None:
        """The same series of runs with other settings, as Flower keeps a node's state."""
        (node,) = self.grid.get_node_ids()
        before = self.grid._contexts[node]
        self.grid._contexts[node] = Context(
            before.run_id + 1, node, before.node_config, before.state, to_run_config(run)
        )


def related(rows: int = 400) -> str:
    rng = np.random.default_rng(8)
    a = rng.integers(0, 2, rows)
    b = np.where(rng.random(rows) < 0.9, a, 1 - a)
    c = rng.integers(0, 2, rows)
    return "a,b,c\n" + "".join(f"{x},{y},{z}\n" for x, y, z in zip(a, b, c, strict=True))


def test_keys_of_the_server_s_own_isolate_a_site(tmp_path: Path) -> None:
    site = DeployedSite(tmp_path, related(), SECURE)
    assert moral_graph_of(site) == "1 0 0"  # a and b are joined


def test_messages_that_arrive_together_are_all_answered(tmp_path: Path) -> None:
    limit = "[policy]\nmax-messages = 3\n"
    site = DeployedSite(tmp_path, related(), limit)
    assert answers_at_once(site, 24).count(ANSWERED) > 3


def test_reports_are_not_counted(tmp_path: Path) -> None:
    site = DeployedSite(tmp_path, related(), "[policy]\nmax-messages = 3\n")
    content = RecordDict({"report": ConfigRecord({"text": "none"})})
    words = [word(site.send(Experiment(), "query.report", content)) for _ in range(5)]
    assert words == [ANSWERED] * 5


def test_a_private_answer_is_sent_again_under_another_run_s_epsilon(tmp_path: Path) -> None:
    schema = Schema.categorical({name: ["0", "1"] for name in "abc"})
    (tmp_path / "states.json").write_text(json.dumps(schema.to_dict()))
    site = DeployedSite(tmp_path, related(), "schema = 'states.json'\n")
    runs = [
        Experiment.of(
            schema="states.json", learner=LearnerSettings(learner="dp-ges", epsilon=epsilon)
        )
        for epsilon in (1.0, 0.01)
    ]
    series = InProcessGridOf(site, runs[0])
    first = series.send("train", task(schema))
    series.next_run(runs[1])
    second = series.send("train", task(schema))
    assert word(first) == word(second) == ANSWERED
    spent = Ledger.read(tmp_path / "north.csv.privacy.jsonl").entries
    assert len(spent) == 1
    assert read_log(tmp_path / "north.csv.disclosures.jsonl").entries
