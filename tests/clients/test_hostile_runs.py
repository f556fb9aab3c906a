"""What a hostile run tried on a deployed site: each of these got through before."""

from __future__ import annotations

import itertools
import json
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.app import ConfigRecord, Message, RecordDict
from scipy.special import gammaln

from clients.door import REFUSED
from fedbn.data.schema import Schema
from fedbn.federation.disclosure_log import read_log
from fedbn.federation.schema_text import schema_to_text
from fedbn.federation.settings import Experiment
from simulations.benchmarks.sites.deployed_site import DeployedSite as Deployed

pytestmark = pytest.mark.filterwarnings("ignore::fedbn.errors.FedbnWarning")

PAIR = {"a": ["0", "1"], "b": ["0", "1"]}


class DeployedSite(Deployed):
    """Every `ask` may be another run."""

    def ask(self, run: Experiment, kind: str = "query", schema: Schema | None = None) -> Message:
        content = RecordDict()
        if schema is not None:
            task = {"text": schema_to_text(schema), "hash": schema.hash, "round": 1}
            content["task"] = ConfigRecord(task)
        return self.send(run, kind, content)

    def word(self, run: Experiment, kind: str = "query", schema: Schema | None = None) -> str:
        reply = self.ask(run, kind, schema)
        if not reply.has_error():
            return "answered"
        return str(reply.error.reason).removeprefix(f"{REFUSED}: ")


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    logging.disable(logging.ERROR)
    yield
    logging.disable(logging.NOTSET)


def patients(count: int = 60) -> str:
    """A table with a forgotten column of identifiers, and a rare state."""
    rows = [f"patient {i},{'yes' if i % 2 else 'no'},{'x' if i > 1 else 'y'}" for i in range(count)]
    return "\n".join(["id,smokes,rare", *rows, ""])


PLAIN = Experiment.of()


def test_identifiers_do_not_leave_by_accident(tmp_path: Path) -> None:
    site = DeployedSite(tmp_path, patients())
    assert site.refusal.startswith("states: ")
    assert site.word(PLAIN) == "contract"
    allowed = "leave-out = ['id']\n[policy]\nallow-states = ['rare']\n"
    reply = DeployedSite(tmp_path, patients(), allowed).ask(PLAIN)
    states = json.loads(str(reply.content["schema"]["text"]))
    assert states == {"rare": ["x", "y"], "smokes": ["no", "yes"]}


def test_whoever_prepares_a_table_is_told_what_looks_like_an_identifier(tmp_path: Path) -> None:
    said = DeployedSite(tmp_path, patients()).refusal
    for words in ("column 'id' has 60 states", "column 'rare' has a state of fewer than 5 rows"):
        assert words in said
    assert 'allow-states = ["id", "rare"]' in said


def test_states_that_the_site_s_file_names_are_told_and_no_others(tmp_path: Path) -> None:
    agreed = {"rare": ["x", "y", "z"], "smokes": ["no", "yes"]}
    (tmp_path / "states.json").write_text(json.dumps(agreed))
    site = DeployedSite(tmp_path, patients(), "schema = 'states.json'\n")
    reply = site.ask(PLAIN, schema=Schema.categorical(agreed))
    assert json.loads(str(reply.content["schema"]["text"])) == agreed
    for other in (agreed | {"rare": ["x", "y"]}, {"smokes": ["no", "yes"]}):
        for kind in ("query", "train"):
            assert site.word(PLAIN, kind, Schema.categorical(other)) == "contract"


def test_a_run_that_lists_all_identifiers_gets_no_column_of_them(tmp_path: Path) -> None:
    everybody = [f"patient {i}" for i in range(200)]
    listed = Schema.categorical({"id": everybody, "rare": ["x", "y"], "smokes": ["no", "yes"]})
    for file in ("", "leave-out = ['id']\n[policy]\nallow-states = ['rare']\n"):
        site = DeployedSite(tmp_path, patients(), file)
        site.prepare(confirmed=True)
        assert site.word(PLAIN, schema=listed) == "contract"
        assert site.word(PLAIN, "train", listed) == "contract"


def test_a_table_beyond_the_sites_own_schema_is_not_prepared(tmp_path: Path) -> None:
    (tmp_path / "states.json").write_text('{"rare": ["x"], "smokes": ["no", "yes"]}')
    site = DeployedSite(tmp_path, patients(), "schema = 'states.json'\nleave-out = ['id']\n")
    assert "column 'rare' has state 'y'" in site.refusal
    assert site.word(PLAIN) == "contract"


CELLS_OF_A_RUN = [
    Experiment.of(missing=("patient 7",)),
    Experiment.of(missing=("nobody",)),
    Experiment.of(missing=("patient 7",), missing_cells="drop-rows"),
    Experiment.of(cuts=("rare=1,2",)),
    Experiment.of(columns=("nothing",)),
    Experiment.of(separator=";"),
    Experiment.of(score="bge"),
]


@pytest.mark.parametrize("policy", ["min-rows = 61", "variables = ['smokes']", ""])
def test_a_run_that_would_read_the_table_in_another_way_is_one_word(
    tmp_path: Path, policy: str
) -> None:
    """`missing=Meyer` was answered with DataError where the table has a Meyer, else min-rows."""
    file = f"[policy]\nallow-states = ['id', 'rare']\nmax-states = 0\n{policy}\n"
    site = DeployedSite(tmp_path, patients(), file)
    assert site.refusal == ""
    assert site.word(PLAIN) == (policy.split()[0] if policy else "answered")
    assert {site.word(run) for run in CELLS_OF_A_RUN} == {"contract"}


OFFERS = """
[policy]
kind = "categorical"
allow-states = ["id", "rare"]
[offers]
learner = ["ges", "hc"]
score = "bdeu"
ess = 1
row-weight = 1
missing = "NA"
max-parents = 3
learner-seconds = 60
memory-mb = 600
"""


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({}, "answered"),
        ({"learner": "hc"}, "answered"),
        ({"max_parents": 2}, "answered"),
        ({"missing": ("NA",)}, "contract"),
        ({"learner": "xges0"}, "offers"),
        ({"score": "bic"}, "offers"),
        ({"score": "bge"}, "kind"),
        ({"ess": 1.5}, "offers"),
        ({"row_weight": 2.0}, "offers"),
        ({"missing": ("patient 7",)}, "offers"),
        ({"max_parents": 4}, "offers"),
        ({"learner_seconds": 61.0}, "offers"),
        ({"memory_mb": 4000.0}, "offers"),
        ({"knowledge": "/dev/zero"}, "offers"),
    ],
)
def test_a_run_gets_what_the_site_offers(
    tmp_path: Path, settings: dict[str, Any], word: str
) -> None:
    assert DeployedSite(tmp_path, patients(), OFFERS).word(Experiment.of(**settings)) == word


def test_knowledge_is_never_read_from_the_runs_path(tmp_path: Path) -> None:
    """A run that named /dev/zero filled the site's memory."""
    run = Experiment.of(knowledge="/dev/zero")
    assert DeployedSite(tmp_path, related(40)).word(run) == "offers"
    (tmp_path / "own.json").write_text('{"forbidden": [["a", "b"], ["b", "a"]]}')
    site = DeployedSite(tmp_path, related(40), "[offers]\nknowledge = 'own.json'\n")
    for knowledge in (None, "/dev/zero"):
        reply = site.ask(Experiment.of(knowledge=knowledge), "train", Schema.categorical(PAIR))
        assert reply.content["structures"]["edges"].numpy().tolist() == []


def test_a_site_keeps_its_own_knowledge_besides_the_run_s(tmp_path: Path) -> None:
    (tmp_path / "own.json").write_text('{"forbidden": [["a", "b"]]}')
    site = DeployedSite(tmp_path, related(40), "[offers]\nknowledge = 'own.json'\n")
    edges = {}
    for told in (None, '{"forbidden": [["b", "a"]]}', '{"tiers": [["b"], ["a"]]}'):
        reply = site.ask(Experiment.of(knowledge=told), "train", Schema.categorical(PAIR))
        edges[told] = reply.content["structures"]["edges"].numpy().tolist()
    assert [len(found) for found in edges.values()] == [1, 0, 1]
    assert site.word(Experiment.of(knowledge='{"required": [["a", "b"]]}')) == "offers"
    firm = DeployedSite(tmp_path, related(40), "[offers]\nrun-knowledge = false\n")
    assert firm.word(Experiment.of(knowledge='{"tiers": [["b"], ["a"]]}')) == "offers"


def related(rows: int) -> str:
    """Two columns that are nearly the same."""
    return "a,b\n" + "".join(f"{i % 2},{i % 2 if i > 5 else 0}\n" for i in range(rows))


def test_only_the_pinned_schema_is_learned_under(tmp_path: Path) -> None:
    pinned, other = Schema.categorical(PAIR), Schema.categorical(PAIR | {"b": ["0", "1", "2"]})
    site = DeployedSite(tmp_path, related(40), f"[policy]\nschema-hash = '{pinned.hash}'\n")
    assert site.word(PLAIN, "train", pinned) == "answered"
    assert site.word(PLAIN, "train", other) == "schema-hash"


def test_weights_of_several_structures_are_rounded_unless_the_site_says_exact(
    tmp_path: Path,
) -> None:
    run = Experiment.of(learner="credible", bf=1e6)
    sent = {}
    for policy in ("", "[policy]\nweights = 'exact'\n", "[policy]\nweights = 'uniform'\n"):
        site = DeployedSite(tmp_path, unrelated(40), policy)
        site.prepare(confirmed=True)
        record = site.ask(run, "train", Schema.categorical(PAIR)).content["structures"]
        sent[policy] = np.sort(record["weights"].numpy())
    rounded, exact, uniform = sent.values()
    assert len(exact) > 1
    assert set(uniform.tolist()) == {1.0}
    assert np.log2(rounded).tolist() == np.round(np.log2(exact / exact.max())).tolist()
    assert not np.array_equal(rounded, exact)


def unrelated(rows: int) -> str:
    return "a,b\n" + "".join(f"{i % 2},{i // 2 % 2 if i > 3 else 1}\n" for i in range(rows))


def test_no_run_seeds_a_random_learner_at_a_deployed_site(tmp_path: Path) -> None:
    run = Experiment.of(learner="bootstrap", replicates=25, seed=1)
    exact = "[policy]\nweights = 'exact'\n"
    rows = np.random.default_rng(3).integers(0, 2, size=(60, 4))
    table = "a,b,c,d\n" + "".join(",".join(map(str, row)) + "\n" for row in rows)
    schema = Schema.categorical(dict.fromkeys("abcd", ("0", "1")))
    answers = set()
    site = DeployedSite(tmp_path, table, exact)
    for _ in range(6):
        record = site.ask(run, "train", schema).content
        answers.add(tuple(array.data for array in record["structures"].values()))
    assert len(answers) > 1


# --- One bit after the other --------------------------------------------------------------------

ROWS = 40
CELLS = np.array([c for c in itertools.product(range(ROWS + 1), repeat=3) if sum(c) <= ROWS])
"""All 2x2 tables of so many rows, by three of their cells."""


def tables() -> Any:
    """int [tables, a, b]: those of which no state of a column has fewer than 5 rows."""
    found = np.column_stack([CELLS, ROWS - CELLS.sum(axis=1)]).reshape(-1, 2, 2)
    fewest = np.minimum(found.sum(axis=1).min(axis=1), found.sum(axis=2).min(axis=1))
    return found[fewest >= 5]


def joined(found: Any, ess: float) -> Any:
    """Whether BDeu joins a and b, of two states each; bool [tables]."""

    def term(counts: Any, prior: float) -> Any:
        return gammaln(counts + prior) - gammaln(prior)

    both = term(found, ess / 4).sum(axis=(1, 2))
    left = term(found.sum(axis=2), ess / 2).sum(axis=1)
    right = term(found.sum(axis=1), ess / 2).sum(axis=1)
    whole = term(found.sum(axis=(1, 2)), ess)
    return both + whole > left + right + 1e-9


def rebuilt(site: DeployedSite) -> tuple[int, int, str]:
    """(tables that are left, questions, last word): the question that halves those left, again."""
    left, asked = tables(), 0
    questions = np.geomspace(0.001, 3000, 400).tolist()
    while True:
        shares = [joined(left, ess).mean() for ess in questions]
        best = int(np.argmin(np.abs(np.array(shares) - 0.5)))
        if min(shares[best], 1 - shares[best]) == 0:
            return len(left), asked, "answered"
        ess = questions.pop(best)
        run = Experiment.of(ess=ess, schema="states.json")
        reply = site.ask(run, "train", Schema.categorical(PAIR))
        asked += 1
        if reply.has_error():
            return len(left), asked, str(reply.error.reason)
        bit = len(reply.content["structures"]["edges"].numpy()) > 0
        left = left[joined(left, ess) == bit]


def secret() -> str:
    cells = {("0", "0"): 13, ("0", "1"): 7, ("1", "0"): 6, ("1", "1"): 14}
    return "a,b\n" + "".join(f"{a},{b}\n" * count for (a, b), count in cells.items())


@pytest.mark.slow
def test_answers_of_one_bit_rebuild_a_table_only_where_the_budget_lets_them(tmp_path: Path) -> None:
    """Without a budget fewer tables are left of 10,000 than with it."""
    unlimited = "[policy]\nmax-messages = 100000\nmax-messages-a-day = 100000\n"
    for name in ("free", "bound"):
        (tmp_path / name).mkdir()
    few, asked, word = rebuilt(DeployedSite(tmp_path / "free", secret(), unlimited))
    assert word == "answered"
    spent = f"[policy]\nmax-messages = {asked // 3}\n"
    many, before, word = rebuilt(DeployedSite(tmp_path / "bound", secret(), spent))
    assert (before, word) == (asked // 3 + 1, f"{REFUSED}: max-messages")
    assert few < many
    log = read_log(tmp_path / "bound" / "north.csv.disclosures.jsonl")
    assert (len(log.entries), log.broken) == (before + 1, "")  # and the line of the contract


def test_by_default_the_budget_is_fewer_answers_than_the_attack_needs(tmp_path: Path) -> None:
    site = DeployedSite(tmp_path, related(40))
    words = [site.word(PLAIN) for _ in range(52)]
    assert words == ["answered"] * 50 + ["max-messages"] * 2
