"""What an ordinary run read of a site whose file is the guide's own (issue 30)."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.app import Array, ArrayRecord, ConfigRecord, RecordDict

from fedbn.data.schema import Schema, Variable
from fedbn.errors import MessageError
from fedbn.federation.disclosure_log import read_log
from fedbn.federation.family_message import FamilyRequest
from fedbn.federation.message import StructureMessage, to_arrays
from fedbn.federation.settings import Experiment
from fedbn.graphs.dag import DAG
from fedbn.learners import LearnerSettings
from fedbn.learners.private import promise
from fedbn.networks.family_counts import Family, FamilyTables
from fedbn.privacy.ledger import Ledger
from simulations.benchmarks.sites.deployed_site import ANSWERED, DeployedSite, RunAtSite, task, word
from simulations.commands.new_site import site_text
from tests.clients.attacks_on_sites import (
    answers_at_once,
    buckets,
    groups_by_failures,
    moral_graph_of,
    numbers_by_histograms,
    rows_by_differences,
    rows_by_skipped_lines,
    states_by_cuts,
    told_kinds,
    words_of_forms,
)
from tests.clients.deployed import next_run
from tests.clients.guide_files import FIRST_DECISIONS, FIRST_SITE, decisions_now

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
def test_histograms_tell_nothing_by_default(tmp_path: Path, name: str) -> None:
    """All 800 record numbers, dates and values, and whole rows as differences, were told."""
    text, _ = hospital()
    site = DeployedSite(tmp_path, text, HISTOGRAM_POLICIES[name] + "allow-states = ['smokes']\n")
    assert numbers_by_histograms(site) == {}
    assert rows_by_differences(site, {"value": {0: 1}}, [100_000]) == []


def test_histograms_that_a_site_allows_tell_no_row(tmp_path: Path) -> None:
    """The first bucket that is told holds five; asking for all of them, or again, is refused."""
    text, rows = hospital()
    allowed = FIRST_SITE + "histograms = true\nmin-cell = 5\n"
    site = DeployedSite(tmp_path, text, allowed)
    assert numbers_by_histograms(site) == {}
    assert "record" not in told_kinds(site)
    (tmp_path / "north.csv.disclosures.jsonl.cuts").unlink()
    counts = buckets(site, 1, {"value": (0,)}, Experiment())
    assert min(counts["value"].values()) >= 5
    assert sum(counts["value"].values()) == len(rows)
    assert buckets(site, 1, {"value": (0,)}, Experiment()) == counts
    for number, prefixes in ((3, (5,)), (2, range(20))):
        with pytest.raises(MessageError, match="histograms"):
            buckets(site, number, {"value": tuple(prefixes)}, Experiment())
    found = next(iter(counts["value"]))
    for other in range(3):
        told_now = buckets(site, 2, {"value": tuple({found, other})}, Experiment())["value"]
        assert sum(told_now.values()) == counts["value"][found]
    with pytest.raises(MessageError, match="histograms"):
        buckets(site, 2, {"value": (found, 4)}, Experiment())


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
def test_lines_that_are_skipped_give_no_row(tmp_path: Path, offers: str) -> None:
    text, rows = wards()
    site = DeployedSite(tmp_path, text, FIRST_SITE + offers)
    assert rows_by_skipped_lines(site, range(1, 31)) == []
    assert words_of_forms(site) == {"contract"}
    site.file.write_text(f"leave-out = ['record']\n{FIRST_SITE}{offers}")
    assert site.prepare() == ""
    described = site.send(Experiment(), "query").content["schema"]
    assert json.loads(str(described["text"])).keys() == {"ward", "drug", "illness"}
    assert rows_by_skipped_lines(site, range(1, 6)) == []
    assert words_of_forms(site) == {"contract"}
    assert len(rows) == 400


def test_a_private_learner_is_no_oracle(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    groups = [f"g{i}" for i in range(30)]
    ill = {group: bool(rng.integers(2)) for group in groups}
    lines = [f"{group},no\n" * 6 + f"{group},{'yes' if ill[group] else 'no'}\n" for group in groups]
    table = "group,hiv\n" + "".join(lines)
    (tmp_path / "states.json").write_text(json.dumps({"group": groups, "hiv": ["no", "yes"]}))
    limit = "schema = 'states.json'\n[policy]\nmax-epsilon = 0.1\n"
    site = DeployedSite(tmp_path, table, limit)
    assert site.refusal == ""
    assert set(groups_by_failures(site, groups).values()) == {"contract"}
    known = Schema.categorical({"group": groups, "hiv": ["no", "yes"]})
    run = Experiment.of(
        schema="states.json", learner=LearnerSettings(learner="dp-ges", epsilon=5.0)
    )
    assert word(site.send(run, "train", task(known))) == "max-epsilon"
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


def test_two_cut_points_give_nobody(tmp_path: Path) -> None:
    text, known = people()
    (tmp_path / "knowledge.json").write_text("{}")
    site = DeployedSite(tmp_path, text, FIRST_DECISIONS)
    wanted = range(300, 320)
    pairs = [(known[k - 1][0], known[k][0]) for k in wanted]
    assert "column 'age' has 1200 states" in site.refusal
    assert states_by_cuts(site, pairs) == []
    cut = f"[schema]\nage = {{cuts = [{pairs[0][0]}]}}\nsmoke = ['no', 'yes']\n[policy]"
    site.file.write_text(FIRST_DECISIONS.replace("[policy]", cut))
    assert site.prepare() == ""
    assert states_by_cuts(site, pairs) == []
    (low, _), *_ = pairs
    assert states_by_cuts(site, [(low, low)]) == [set()]  # the contract's own cut is answered


def test_two_contracts_give_nobody_either(tmp_path: Path) -> None:
    """The operator moves the cut by one person, or adds one row: that is told of no count."""
    text, known = people()
    (tmp_path / "knowledge.json").write_text("{}")
    low, high = known[299][0], known[300][0]

    def file(cut: float) -> str:
        pinned = f"[schema]\nage = {{cuts = [{cut}]}}\nsmoke = ['no', 'yes']\n[policy]"
        return FIRST_DECISIONS.replace("[policy]", pinned)

    def counts(cut: float) -> str:
        schema = Schema((Variable.cut("age", [cut]), Variable("smoke", ("no", "yes"))))
        request = FamilyRequest(FamilyTables(schema, (Family(1, (0,)),)), with_own=False)
        return site.counts(Experiment(), request)[1]

    site = DeployedSite(tmp_path, text, file(low))
    assert counts(low) == ANSWERED
    site.file.write_text(file(high))
    assert counts(high) == "contract"
    assert "--replace" in site.prepare()
    assert site.prepare(confirmed=True) == ""
    assert counts(high) == "min-cell"
    site.table.write_text(text + "5000,99.9,ja\n")
    site.file.write_text(file(low))
    assert site.prepare(confirmed=True) == ""
    assert counts(low) == "min-cell"


SECURE = "name = 'north'\n[policy]\nsecure-sums = true\nmin-cohort = 5\n"


def test_under_secure_sums_moments_do_not_leave_in_the_open(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    table = "a,b\n" + "".join(f"{a},{b}\n" for a, b in rng.normal(size=(200, 2)).tolist())
    site = DeployedSite(tmp_path, table, f"{SECURE}counts = true\nkind = 'gaussian'\n")
    schema = Schema.gaussian(("a", "b"))
    dag = DAG.from_edges("ab", [("a", "b")])
    arrays = to_arrays(StructureMessage(schema.hash, ("a", "b"), (dag,), (1.0,), "complete"))
    content = task(schema)
    content["consensus"] = ArrayRecord({key: Array(array) for key, array in arrays.items()})
    run = Experiment.of(learner=LearnerSettings(score="bge"))
    assert word(site.send(run, "query.moments", content)) == "secure-sums"


def related(rows: int = 400) -> str:
    rng = np.random.default_rng(8)
    a = rng.integers(0, 2, rows)
    b = np.where(rng.random(rows) < 0.9, a, 1 - a)
    c = rng.integers(0, 2, rows)
    return "a,b,c\n" + "".join(f"{x},{y},{z}\n" for x, y, z in zip(a, b, c, strict=True))


def test_keys_of_the_server_s_own_are_no_sites(tmp_path: Path) -> None:
    site = DeployedSite(tmp_path, related(), SECURE)
    schema = Schema.categorical({name: ["0", "1"] for name in "abc"})
    assert moral_graph_of(site, schema) == "min-cohort"


def test_messages_that_arrive_together_share_one_budget(tmp_path: Path) -> None:
    limit = "[policy]\nmax-messages = 3\n"
    site = DeployedSite(tmp_path, related(), limit)
    words = answers_at_once(site, 24)
    assert (words.count(ANSWERED), words.count("max-messages")) == (3, 21)


def test_reports_are_counted(tmp_path: Path) -> None:
    site = DeployedSite(tmp_path, related(), "[policy]\nmax-messages = 3\n")
    content = RecordDict({"report": ConfigRecord({"text": "none"})})
    words = [word(site.send(Experiment(), "query.report", content)) for _ in range(5)]
    assert words == [ANSWERED] * 3 + ["max-messages"] * 2


def test_a_private_answer_is_not_sent_again_under_another_run_s_epsilon(tmp_path: Path) -> None:
    schema = Schema.categorical({name: ["0", "1"] for name in "abc"})
    (tmp_path / "states.json").write_text(json.dumps(schema.to_dict()))
    site = DeployedSite(tmp_path, related(), "schema = 'states.json'\n")
    runs = [
        Experiment.of(
            schema="states.json", learner=LearnerSettings(learner="dp-ges", epsilon=epsilon)
        )
        for epsilon in (1.0, 0.01)
    ]
    series = RunAtSite(site, runs[0])
    first = series.send("train", task(schema))
    next_run(series, runs[1])
    second = series.send("train", task(schema))
    assert word(first) == word(second) == ANSWERED
    spent = Ledger.read(tmp_path / "north.csv.privacy.jsonl").entries
    assert [entry.rho for entry in spent] == [promise(run.learner).rho for run in runs]
    assert read_log(tmp_path / "north.csv.disclosures.jsonl").entries


# --- The guide's file of today, and what `fedbn site new` writes ------------------------------


def learned(site: DeployedSite) -> list[object]:
    """What all attacks of a run learn that need nothing but a table."""
    pairs = [(51.3, 51.4), (40.0, 40.1)]
    return [
        *rows_by_skipped_lines(site, range(1, 6)),
        *states_by_cuts(site, pairs),
        *(words_of_forms(site) - {"contract"}),
        *numbers_by_histograms(site),
        *rows_by_differences(site, {"age": {0: 1}, "value": {0: 1}}, [100_000, 100_001]),
    ]


def test_the_guide_s_file_of_today_gives_nothing(tmp_path: Path) -> None:
    (tmp_path / "knowledge.json").write_text("{}")
    site = DeployedSite(tmp_path, people()[0], decisions_now())
    assert site.refusal == ""
    described = site.send(Experiment(), "query").content["schema"]
    assert json.loads(str(described["text"])) == {"age": {"cuts": [40, 60]}, "smoke": ["no", "yes"]}
    assert learned(site) == []


TABLES = {"hospital": hospital()[0], "wards": wards()[0], "people": people()[0], "plain": related()}


@pytest.mark.parametrize("name", TABLES)
def test_files_of_site_new_give_nothing_without_editing(tmp_path: Path, name: str) -> None:
    (tmp_path / "north.csv").write_text(TABLES[name])
    site = DeployedSite(tmp_path, TABLES[name], site_text(tmp_path / "north.csv", name="north"))
    assert site.refusal == ""
    described = site.send(Experiment(), "query").content["schema"]
    schema = Schema.from_dict(json.loads(str(described["text"])))
    assert not {"record", "record_id"} & set(schema.names)
    assert word(site.send(Experiment(), "train", task(schema))) == ANSWERED
    assert learned(site) == []
