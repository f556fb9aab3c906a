"""Cut points where sites answer under masks only."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from flwr.app import Array, ArrayRecord, ConfigRecord, Message, RecordDict
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from fedbn.data.quantiles import Histogram, Question, Selection, histogram
from fedbn.errors import DataError, MessageError, PolicyError, QuorumError
from fedbn.federation.disclosure_log import read_log
from fedbn.federation.histogram_message import question_to_text
from fedbn.federation.run_config import to_run_config
from fedbn.federation.settings import Experiment
from fedbn.privacy.small_buckets import thin_out
from fedbn.secure.cut_sums import (
    ASKED,
    NOTHING_ASKED,
    AskedCuts,
    BucketRequest,
    CutSumRequest,
    SizeRequest,
    allow,
    counts_of,
    cut_terms,
    most_of,
    own_counts,
    own_sizes,
    to_bytes,
)
from fedbn.secure.masks import Key
from fedbn.secure.past_cohorts import read_cohorts
from fedbn.secure.session import Member
from server.cut_points import find_cuts
from simulations.benchmarks.sites.deployed_site import word
from simulations.in_process_grid import InProcessGrid
from tests.clients.deployed import known_to_each_other

PLAN = Experiment.of(discretise=("age:4",), aggregation="secure-sums", connect_seconds=0.0)
NAMES = ("east", "north", "south")
POLICY = "[policy]\nhistograms = true\nsecure-sums = true\nmin-state-rows = 5\n"
AGES = np.repeat(np.arange(20.0, 80.0), 5)


def nodes_of(folder: Path, tables: Sequence[NDArray[np.float64]]) -> list[dict[str, str]]:
    nodes = []
    known = known_to_each_other(folder, NAMES)
    for (name, (first, last)), ages in zip(known.items(), tables, strict=True):
        lines = "".join(f"{age},x\n" for age in ages.tolist())
        (folder / f"{name}.csv").write_text("age,b\n" + lines)
        (folder / f"{name}.toml").write_text(first + POLICY + last)
        nodes.append(
            {"data-path": str(folder / f"{name}.csv"), "policy": str(folder / f"{name}.toml")}
        )
    return nodes


def found_cuts(
    folder: Path, tables: Sequence[NDArray[np.float64]], fault: object = None
) -> tuple[float, ...]:
    with InProcessGrid(to_run_config(PLAN), nodes_of(folder, tables), fault=fault) as grid:  # type: ignore[arg-type]
        return find_cuts(grid, grid.get_node_ids(), PLAN)["age"]


def quartiles(tables: Sequence[NDArray[np.float64]]) -> tuple[float, ...]:
    """By the definition, of all numbers together."""
    pooled = np.concatenate(tables)
    return tuple(np.quantile(pooled, [0.25, 0.5, 0.75], method="inverted_cdf").tolist())


def test_cuts_are_those_of_all_numbers_and_no_histogram_is_seen(tmp_path: Path) -> None:
    seen: list[tuple[int, bytes]] = []

    def watch(node: int, reply: Message) -> Message:
        if "sums" in reply.content:
            seen.append((node, bytes(reply.content["sums"]["masked"].data)))
        if "histogram" in reply.content:  # which columns there are, and no more
            assert reply.content["histogram"]["text"] == '{"columns":{"age":true},"version":2}'
        return reply

    tables = [AGES, AGES + 1.0, AGES - 1.0]
    cuts = found_cuts(tmp_path, tables, watch)
    assert cuts == quartiles(tables)
    assert len(seen) == 12
    for _, vector in seen:
        zeros = vector.count(b"\0") / len(vector)
        assert zeros < 0.1  # a histogram without masks is nearly all zeros
    log = read_log(tmp_path / "east.csv.disclosures.jsonl").entries
    assert [entry.words.split(": ")[-1].split(", ")[-1] for entry in log[2:]] == [
        "as votes",
        *["counts of the numbers of 1 column"] * 3,
    ]


def test_a_site_with_many_rows_counts_as_three_times_the_median_site(tmp_path: Path) -> None:
    many = np.full(60_000, 1000.0)
    honest = np.concatenate([AGES, AGES])
    cuts = found_cuts(tmp_path, [AGES, AGES, many])
    assert AGES.min() < cuts[0] < AGES.max()
    assert len(honest) + len(many) > 60_000  # in the open sum all cuts would be at 1000
    assert np.quantile(np.concatenate([honest, many]), 0.25, method="inverted_cdf") == 1000.0


@pytest.mark.parametrize("number", [1, 2])
def test_a_share_that_no_site_may_have_ends_the_run(tmp_path: Path, number: int) -> None:
    """It adds a million to a masked vector, where its numbers would be."""
    asked = 0

    def claim(node: int, reply: Message) -> Message:
        nonlocal asked
        if node == 4 and "sums" in reply.content:
            asked += 1
            if asked == number:
                masked = reply.content["sums"]["masked"].numpy().copy()
                masked[17] += np.asarray(10**6, dtype=masked.dtype)
                reply.content["sums"] = ArrayRecord({"masked": Array(masked)})
        return reply

    with pytest.raises(QuorumError, match="some site sent wrong sums, and masks hide which one"):
        found_cuts(tmp_path, [AGES] * 3, claim)


def test_a_site_whose_past_forbids_the_company_counts_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An earlier cohort without south: the difference would be its numbers."""
    counted: list[int] = []

    def sizes(asked: SizeRequest, numbers: dict[str, NDArray[np.float64]]) -> NDArray[np.int64]:
        counted.append(len(numbers))
        return own_sizes(asked, numbers)

    monkeypatch.setattr("clients.secure_sums.cut_sums.own_sizes", sizes)
    earlier = tmp_path / "east.csv.cohorts.jsonl"
    earlier.write_text('{"run": "1", "roster": ["east", "north"]}\n')
    with pytest.raises(QuorumError, match="refused by this site's policy: cohort-changed"):
        found_cuts(tmp_path, [AGES] * 3)
    assert len(counted) == 2
    earlier.unlink()
    found_cuts(tmp_path, [AGES] * 3)
    assert len(counted) == 5


def test_a_question_out_of_turn_leaves_no_cohort_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "server.cut_points.to_bytes", lambda request, session, _: to_bytes(request, session, 2)
    )
    with pytest.raises(QuorumError, match="refused by this site's policy: query"):
        found_cuts(tmp_path, [AGES] * 3)
    files = [tmp_path / f"{name}.csv.cohorts.jsonl" for name in NAMES]
    assert [read_cohorts(file) for file in files] == [()] * 3
    monkeypatch.undo()
    found_cuts(tmp_path, [AGES] * 3)
    assert [len(read_cohorts(file)) for file in files] == [1] * 3


def test_in_the_open_such_a_site_tells_which_columns_it_has_and_no_more(tmp_path: Path) -> None:
    grid = InProcessGrid(to_run_config(PLAN), nodes_of(tmp_path, [AGES] * 3))
    for question, said in ((None, "answered"), (Question(1, {"age": (0,)}), "secure-sums")):
        record = ConfigRecord({"text": question_to_text(question)})
        message = Message(RecordDict({"question": record}), 2, "query.histogram")
        (reply,) = grid.send_and_receive([message])
        assert word(reply) == said


# --- The sums by themselves ---------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 5000), min_size=1, max_size=12).filter(any))
def test_most_is_at_most_three_times_the_median(sizes: list[int]) -> None:
    request = SizeRequest(("a",))
    votes = sum(own_sizes(request, {"a": np.zeros(size)}) for size in sizes)
    median = statistics.median_low([size for size in sizes if size])
    assert 1.5 * median < most_of(request, votes, len(sizes))["a"] <= 3 * median  # type: ignore[arg-type]


def test_sums_that_are_no_votes(tmp_path: Path) -> None:
    request = SizeRequest(("a",))
    votes = own_sizes(request, {"a": np.zeros(7)})
    for wrong in (votes[:-1], votes + 1, -votes):
        with pytest.raises(MessageError, match="votes"):
            most_of(request, wrong, 1)
    with pytest.raises(DataError, match="no numbers"):
        most_of(request, own_sizes(request, {"a": np.zeros(0)}), 1)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(-9, 9).map(float), min_size=1, max_size=60), st.integers(1, 40))
def test_thinned_numbers_are_the_middles_of_equal_parts(numbers: list[float], most: int) -> None:
    """The twin repeats every number `most` times, so that the parts are whole."""
    kept = thin_out(np.array(numbers), most)
    if len(numbers) <= most:
        assert kept.tolist() == numbers
        return
    repeated = sorted(number for number in numbers for _ in range(2 * most))
    part = 2 * len(numbers)
    assert kept.tolist() == [repeated[k * part + part // 2] for k in range(most)]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20), min_size=1, max_size=4))
def test_sums_of_vectors_are_sums_of_histograms(tables: list[list[float]]) -> None:
    columns = [{"a": np.array(table)} for table in tables]
    state, plain, before = Selection({"a": 3}), Selection({"a": 3}), None
    while not state.done:
        request = BucketRequest(state.question(), {"a": 20})
        answers = [histogram(request.question, each) for each in columns]
        total = sum(own_counts(request.question, answer) for answer in answers)
        found = counts_of(request, total, len(tables), before)  # type: ignore[arg-type]
        assert found == sum(answers[1:], answers[0])
        state, before = state.after(found), found
        plain = plain.after(found)
    assert state.cuts() == plain.cuts()


def test_sums_that_are_no_histograms() -> None:
    request = BucketRequest(Question(2, {"a": (5,)}), {"a": 4})
    good = np.zeros(4096, dtype=np.int64)
    good[3] = 8
    before = Histogram({"a": {5: 8}})
    assert counts_of(request, good, 2, before).counts == {"a": {5 * 4096 + 3: 8}}
    for wrong, words in (
        (-good, "no counts"),
        (2 * good, "hold 16 numbers, at most 4 were agreed on for each of 2 sites"),
        (good // 2, "of other numbers"),
        (np.append(good, 0), "of other numbers"),
        (good[:-1], "no counts"),
    ):
        with pytest.raises(MessageError, match=words):
            counts_of(request, wrong, 2, before)


def test_only_the_four_requests_of_the_terms_in_their_order() -> None:
    members = [Member(str(k), Key.generate().public.hex()) for k in range(3)]
    terms = cut_terms("7", ("a",), members)

    def asked(request: CutSumRequest, number: int, before: AskedCuts) -> AskedCuts:
        return allow(to_bytes(request, terms.session, number), before, terms)[1]

    def bucket(round_: int, most: int = 9, name: str = "a") -> BucketRequest:
        return BucketRequest(Question(round_, {name: (0,)}), {name: most})

    sizes = SizeRequest(("a",))
    one = asked(sizes, 1, NOTHING_ASKED)
    assert asked(sizes, 1, one) == one  # asked again, word for word
    two = asked(bucket(1), 2, one)
    assert ASKED.decode(ASKED.encode(two)) == two
    last = asked(bucket(3), 4, asked(bucket(2), 3, two))
    for request, number, before in (
        (bucket(1), 1, NOTHING_ASKED),
        (bucket(1), 2, NOTHING_ASKED),
        (SizeRequest(("b",)), 1, NOTHING_ASKED),
        (SizeRequest(("a", "a")), 1, NOTHING_ASKED),
        (sizes, 2, one),
        (bucket(2), 2, one),
        (bucket(1, name="b"), 2, one),
        (bucket(2, most=8), 3, two),
        (bucket(1, most=8), 2, two),
        (bucket(3), 5, last),
    ):
        with pytest.raises(PolicyError) as refused:
            asked(request, number, before)
        assert refused.value.args[0] == "query"
    with pytest.raises(PolicyError, match="another run"):
        allow(to_bytes(sizes, bytes(32), 1), NOTHING_ASKED, terms)


def test_simulated_sites_answer_under_masks_too(tmp_path: Path) -> None:
    files = []
    tables = [AGES, AGES + 1.0, AGES - 1.0]
    for name, ages in zip(NAMES, tables, strict=True):
        files.append(str(tmp_path / f"{name}.csv"))
        Path(files[-1]).write_text("age,b\n" + "".join(f"{age},x\n" for age in ages.tolist()))
    plan = PLAN.change(sites=tuple(files))
    nodes = [{"partition-id": k, "num-partitions": 3} for k in range(3)]
    with InProcessGrid(to_run_config(plan), nodes) as grid:
        found = find_cuts(grid, grid.get_node_ids(), plan)
    assert found == {"age": quartiles(tables)}
