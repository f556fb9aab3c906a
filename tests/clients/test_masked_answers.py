"""A hostile server before a site's masked answers: it asks again, and brings the company itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.app import ConfigRecord, Message, RecordDict

from fedbn.arrays import Ints
from fedbn.data.quantiles import Question
from fedbn.data.schema import Schema, Variable
from fedbn.federation.counted import counted_beside
from fedbn.federation.disclosure_log import log_beside
from fedbn.federation.settings import Experiment
from fedbn.learners import LearnerSettings
from fedbn.networks.family_counts import Family
from fedbn.secure import cut_sums
from fedbn.secure.masks import Key, mask, pair_keys, request_digest
from fedbn.secure.requests import (
    CountRequest,
    ScatterRequest,
    ScoreRequest,
    SizeRequest,
    SumRequest,
    VoteRequest,
    to_bytes,
)
from fedbn.secure.session import Member, Terms
from simulations.benchmarks.sites.deployed_site import (
    DeployedSite,
    RunAtSite,
    arrays_of,
    task,
    word,
)
from tests.clients.deployed import next_run
from tests.server.test_secure_sums import SUMMED, deployed, run_deployed

CATEGORIES = Schema((Variable("ill", ("0", "1")), Variable("old", ("0", "1"))))
MIXED = Schema((Variable("age"), Variable("old", ("0", "1"))))
FILE = 'schema = "schema.json"\n[policy]\ncounts = true\nhistograms = true\nmin-state-rows = 0\n'
FAMILY = Family(1, (0,))


def states(alone: int) -> list[str]:
    return ["0,0"] * 60 + ["0,1"] * 40 + ["1,1"] * alone


def ages() -> list[str]:
    rng = np.random.default_rng(3)
    return [f"{age:.3f},{k % 2}" for k, age in enumerate(rng.normal(60, 10, 100))]


class HostileServer:
    """Votes were asked for; the other keys of the cohort are the server's own."""

    def __init__(
        self, folder: Path, schema: Schema, rows: list[str], policy: str = "", first: str = ""
    ) -> None:
        (folder / "schema.json").write_text(json.dumps(schema.to_dict()))
        self.names = ",".join(schema.names)
        self.site = DeployedSite(folder, self.text(rows), first + FILE + policy)
        assert self.site.refusal == ""
        score = "bdeu" if schema.kind == "categorical" else "mixed-bic"
        self.run = RunAtSite(self.site, Experiment.of(learner=LearnerSettings(score=score)))
        self.keys = [Key.generate(), Key.generate()]
        begin = task(schema)
        begin["task"]["run"] = "r"
        members = self.members("query.keys", begin)
        self.terms = Terms("r", schema.hash, "moral-votes", 1, 8, 1, (), members, counts=9)
        self.number = 0
        self.ask(VoteRequest(None, False))

    def text(self, rows: list[str]) -> str:
        return "\n".join([self.names, *rows, ""])

    def members(self, kind: str, content: RecordDict) -> tuple[Member, ...]:
        public = self.run.send(kind, content).content["keys"]["public"]
        assert isinstance(public, bytes)
        own = [Member(f"o{k}", key.public.hex()) for k, key in enumerate(self.keys)]
        return (Member("north", public.hex()), *own)

    def prepare(self, rows: list[str]) -> None:
        self.site.table.write_text(self.text(rows))
        assert self.site.prepare(confirmed=True) == ""

    def send(self, kind: str, data: bytes, terms: Terms, number: int) -> Message:
        content = {"request": data, **({"terms": terms.to_text()} if number == 1 else {})}
        record = {"task": ConfigRecord({"round": number}), "sums": ConfigRecord(content)}
        return self.run.send(kind, RecordDict(record))

    def ask(self, request: SumRequest, *, again: bool = False) -> Ints | str:
        """The vector under the site's own mask alone taken off; or the word of a refusal."""
        self.number += not again
        data = to_bytes(request, self.terms.session, self.number)
        reply = self.send("train.sums", data, self.terms, self.number)
        if reply.has_error():
            self.number -= not again
            return word(reply)
        total: Any = arrays_of(reply, "sums")["masked"]
        session, roster = self.terms.session, self.terms.roster
        for key in self.keys:
            pairs = pair_keys(key, roster, session)
            nothing = np.zeros(len(total), np.int64)
            total = total + mask(nothing, pairs, request_digest(data), total.dtype.type)
        return np.asarray(total.astype(np.uint64).view(np.int64))


COUNTS = [CountRequest((FAMILY,), own=True)]
SUMS = [SizeRequest(), ScatterRequest((140, 134)), ScoreRequest((FAMILY,))]


@pytest.mark.parametrize(
    ("schema", "rows", "asked"),
    [
        (CATEGORIES, states(20), COUNTS),
        (MIXED, ages(), SUMS[:1]),
        (MIXED, ages(), SUMS[:2]),
        (MIXED, ages(), SUMS),
    ],
    ids=["counts", "levels", "products", "scores"],
)
def test_a_repeated_question_has_no_other_answer(
    tmp_path: Path, schema: Schema, rows: list[str], asked: list[SumRequest]
) -> None:
    """The masks are the same: two answers would show the rows by which they differ."""
    server = HostileServer(tmp_path, schema, rows)
    told = [server.ask(request) for request in asked]
    assert not any(isinstance(each, str) for each in told)
    again = server.ask(asked[-1], again=True)
    assert again.tolist() == told[-1].tolist()
    new = "1,1" if schema is CATEGORIES else "95.5,1"
    server.prepare([*rows, new])
    assert server.ask(asked[-1], again=True) == "query"
    assert server.ask(COUNTS[0] if schema is CATEGORIES else SUMS[-1]) == "query"
    server.prepare(rows)
    assert server.ask(asked[-1], again=True).tolist() == told[-1].tolist()


@pytest.mark.parametrize("level", [0, 100, 131])
def test_no_refusal_tells_how_large_a_site_s_sums_are(tmp_path: Path, level: int) -> None:
    """The sum of squares is between 16^3 and 16^4. Under a lower level the answer is noise, the
    same noise again, and there is no second try."""
    server = HostileServer(tmp_path, MIXED, ages())
    server.ask(SizeRequest())
    told = server.ask(ScatterRequest((level, 134)))
    assert not isinstance(told, str)
    assert told.size == 4
    assert not 0 <= told[0] < 2**40
    assert server.ask(ScatterRequest((level, 134)), again=True).tolist() == told.tolist()
    assert server.ask(ScatterRequest((132, 134))) == "query"


def test_own_scores_of_a_run_are_of_one_equivalent_sample_size(tmp_path: Path) -> None:
    server = HostileServer(tmp_path, CATEGORIES, states(20))
    assert not isinstance(server.ask(COUNTS[0]), str)
    other = Experiment.of(learner=LearnerSettings(score="bdeu", ess=100.0))
    next_run(server.run, other)
    assert server.ask(COUNTS[0], again=True) == "query"
    assert server.ask(COUNTS[0]) == "query"


@pytest.mark.parametrize(("alone", "told"), [(1, False), (10, False), (11, True)])
def test_small_counts_are_under_masks_for_known_company_alone(
    tmp_path: Path, alone: int, told: bool
) -> None:
    """Keys are no sites: this server has all the others."""
    server = HostileServer(tmp_path, CATEGORIES, states(alone), "min-cell = 11\n")
    found = server.ask(CountRequest((FAMILY,), own=False))
    if told:
        assert found.tolist() == [60, 40, 0, alone]
    else:
        assert found == "min-cell"
        assert not counted_beside(log_beside(server.site.table)).exists()


def test_small_counts_are_under_masks_where_the_company_is_known(tmp_path: Path) -> None:
    configs = deployed(tmp_path, ("east", "north", "south"), counts="true", min_cell="100")
    run = SUMMED.change(choose="counts", parameters="federated")
    assert run_deployed(configs, run).choice is not None
    for config in configs:
        file = Path(config["policy"])
        file.write_text(file.read_text().partition("[peers]")[0])
    result = run_deployed(configs, run)
    assert result.choice is None
    assert "min-cell" in result.lacking


@pytest.mark.parametrize(
    "families", [(Family(1, ()), Family(0, ())), (Family(0, (7,)),)], ids=["order", "column"]
)
def test_what_is_refused_is_not_taken_for_told(
    tmp_path: Path, families: tuple[Family, ...]
) -> None:
    server = HostileServer(tmp_path, CATEGORIES, states(20), "min-cell = 5\n")
    assert server.ask(CountRequest(families, own=False)) == "query"
    assert not counted_beside(log_beside(server.site.table)).exists()


@pytest.mark.parametrize("schema", [CATEGORIES, MIXED], ids=["counts", "products"])
def test_imputed_cells_are_in_no_masked_sum(tmp_path: Path, schema: Schema) -> None:
    rows = [*states(20), ",1"] if schema is CATEGORIES else [*ages(), ",0"]
    server = HostileServer(tmp_path, schema, rows, first="missing-cells = 'impute'\n")
    assert server.ask(COUNTS[0] if schema is CATEGORIES else SUMS[0]) == "counts"


def test_a_repeated_question_for_cut_points_has_no_other_answer(tmp_path: Path) -> None:
    rows = ages()
    server = HostileServer(tmp_path, MIXED, rows)
    begin = RecordDict({"task": ConfigRecord({"run": "c", "round": 0})})
    terms = cut_sums.cut_terms("c", ("age",), server.members("query.cut_keys", begin))

    def ask(number: int) -> str | bytes:
        asked: list[cut_sums.CutSumRequest] = [cut_sums.SizeRequest(("age",))]
        asked.append(cut_sums.BucketRequest(Question(1, {"age": (0,)}), {"age": 300}))
        data = cut_sums.to_bytes(asked[number - 1], terms.session, number)
        reply = server.send("query.cut_sums", data, terms, number)
        return word(reply) if reply.has_error() else arrays_of(reply, "sums")["masked"].tobytes()

    ask(1)
    first = ask(2)
    assert isinstance(first, bytes)
    assert ask(2) == first
    server.site.table.write_text(server.text([*rows, *ages()[:40]]))
    assert ask(2) == "query"
