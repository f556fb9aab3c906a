"""A search for differences: does an answer of a strict site depend on one row of its table?

Two sites with one file of `fedbn site new` have tables that differ in one row: another one in its
place, or none. Both hear the same dialogues of up to three messages, of every kind that there is,
and their answers are compared. Structures may differ, for `train` may send them; keys and masks are
drawn anew. What is under a mask is compared too, as the server sees it that made all other keys,
where both sites have the same structure. Then a site that counts is asked twice, under two
contracts that read columns differently (`simulations.benchmarks.sites.subtractions`).

    python -m simulations.benchmarks.sites.differences --pairs 200
"""

from __future__ import annotations

import logging
import tempfile
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from flwr.app import Array, ArrayRecord, ConfigRecord, Message, RecordDict

from clients.client_app import HANDLERS
from fedbn.arrays import Masked
from fedbn.data.quantiles import Question
from fedbn.data.schema import Schema, Variable
from fedbn.federation.answer_budget import budget_beside
from fedbn.federation.disclosure_log import log_beside
from fedbn.federation.family_message import REQUESTS, FamilyRequest, request_to_arrays
from fedbn.federation.histogram_message import question_to_text
from fedbn.federation.settings import Experiment
from fedbn.learners import LearnerSettings
from fedbn.networks.family_counts import Family, FamilyTables
from fedbn.secure.cut_sums import BucketRequest, CutSumRequest, SizeRequest, cut_terms
from fedbn.secure.cut_sums import to_bytes as cut_bytes
from fedbn.secure.masks import SIGNED, Key, mask, pair_keys, request_digest
from fedbn.secure.requests import (
    CountRequest,
    OrderRequest,
    OrderState,
    SumRequest,
    UnionRequest,
    UnionState,
    VoteRequest,
    to_bytes,
)
from fedbn.secure.session import Member, Terms
from fedbn.secure.words import word_of
from simulations.benchmarks.sites.deployed_site import (
    DeployedSite,
    RunAtSite,
    any_dag,
    arrays_of,
    task,
    word,
)
from simulations.benchmarks.sites.subtractions import subtract
from simulations.commands.new_site import site_text

ROWS, STATES = 120, ("0", "1", "2")
SCHEMA = Schema((Variable.cut("age", [40.0]), *(Variable(n, STATES) for n in "bc")))

Told = list[tuple[Any, ...]]
"""What was heard of a site: a kind, its word, and all that it tells but structures and masks."""

Dialogue = Generator[tuple[str, RecordDict], Message, list[Any]]
"""Kinds and contents of messages; gets the replies, and ends with what was under masks."""

RUNS = [
    Experiment.of(skip_lines=1),
    Experiment.of(header="no"),
    Experiment.of(separator=";"),
    Experiment.of(missing=("1",), missing_cells="drop-rows"),
    Experiment.of(missing_cells="state"),
    Experiment.of(leave_out=("b",)),
    Experiment.of(leave_out_identifiers=True),
    Experiment.of(columns=("age", "b")),
    Experiment.of(cuts=("age=41",)),
    Experiment.of(discretise=("age:3",)),
    Experiment.of(share_diagnostics=True),
    Experiment.of(learner=LearnerSettings(score="bge")),
    Experiment.of(learner=LearnerSettings(ess=2.0)),
    Experiment.of(learner=LearnerSettings(learner="credible")),
    Experiment.of(schema="s.json", learner=LearnerSettings(learner="dp-ges", epsilon=5.0)),
    Experiment.of(contract=("0" * 64,)),
]
"""What a run may want beside the default, which is asked for half of the time."""


def schema_asked(rng: np.random.Generator) -> Schema:
    """The agreed schema, or one with another cut point, state or column."""
    changed = [
        Schema((Variable.cut("age", [41.0]), *SCHEMA.variables[1:])),
        Schema((*SCHEMA.variables[:2], Variable("c", ("0", "1")))),
        Schema(SCHEMA.variables[:2]),
    ]
    return SCHEMA if rng.random() < 0.6 else changed[int(rng.integers(len(changed)))]


def any_message(kind: str, rng: np.random.Generator) -> RecordDict:
    """A well-formed message of a kind, which follows from nothing."""
    schema = schema_asked(rng)
    content = _task(schema, int(rng.integers(1, 3)))
    if kind == "query" and rng.random() < 0.5:
        content = RecordDict()
    if kind == "query.histogram":
        number = int(rng.integers(0, 4))
        bucket = int(rng.integers(0, 2)) if number > 1 else 0
        asked = {str(rng.choice(["age", "b", "record"])): (bucket,)}
        text = question_to_text(Question(number, asked) if number else None)
        content["question"] = ConfigRecord({"text": text})
    if kind == "query.report":
        content["report"] = ConfigRecord({"text": "nothing"})
    if kind == "query.counts":
        content["families"] = any_families(schema, rng)
    if kind in ("query.moments", "query.conditional") or rng.random() < 0.3:
        content["consensus"] = any_dag(schema, rng)
    if kind in ("train.sums", "query.cut_sums"):
        content["sums"] = ConfigRecord({"request": b"{}"})
    return content


def _task(schema: Schema, number: int) -> RecordDict:
    """The task of a run that has a name, as secure sums need it."""
    content = task(schema, number)
    named = content["task"]
    assert isinstance(named, ConfigRecord)
    named["run"] = "7"
    return content


def any_families(schema: Schema, rng: np.random.Generator) -> ArrayRecord:
    """A request for the counts of one family."""
    node = int(rng.integers(schema.n))
    parents = tuple(k for k in range(schema.n) if k != node and rng.random() < 0.5)
    tables = FamilyTables(schema, (Family(node, parents),))
    arrays = request_to_arrays(FamilyRequest(tables, with_own=bool(rng.integers(2))))
    return ArrayRecord({key: Array(arrays[key]) for key in REQUESTS.keys})


def _alone(rng: np.random.Generator, turn: int) -> Dialogue:
    """Three messages that have nothing to do with each other; the kinds go round."""
    kinds = list(HANDLERS)
    for number in range(3 * turn, 3 * turn + 3):
        kind = kinds[number % len(kinds)]
        yield kind, any_message(kind, rng)
    return []


def _rounds(rng: np.random.Generator) -> Dialogue:
    """Three rounds: the second and the third from a consensus, or a repeated one."""
    for number in range(1, 4):
        content = task(SCHEMA, max(1, number - int(rng.random() < 0.3)))
        if number > 1:
            content["consensus"] = any_dag(SCHEMA, rng)
        yield "train", content
    return []


def _handshake(rng: np.random.Generator) -> Dialogue:
    """Columns with and without the agreed schema, a report, and a round."""
    yield "query", task(SCHEMA) if rng.random() < 0.5 else RecordDict()
    yield "query.report", RecordDict({"report": ConfigRecord({"text": "column 'x'"})})
    yield "train", task(SCHEMA)
    return []


def _cut_points(rng: np.random.Generator) -> Dialogue:
    """Which columns hold numbers, then a round in the open or a key and a sum under masks."""
    own = [Key.generate() for _ in range(3)]
    if rng.random() < 0.5:
        for question in (None, Question(1, {"age": (0,)}), Question(2, {"age": (1024,)})):
            text = ConfigRecord({"text": question_to_text(question)})
            yield "query.histogram", RecordDict({"question": text})
        return []
    begin = ConfigRecord({"run": "7"})
    reply = yield "query.cut_keys", RecordDict({"task": begin})
    terms = cut_terms("7", ("age",), _members(reply, own))
    asked: list[CutSumRequest] = [SizeRequest(("age",))]
    asked.append(BucketRequest(Question(1, {"age": (0,)}), {"age": 50}))
    for number, request in enumerate(asked, start=1):
        data = cut_bytes(request, terms.session, number)
        yield "query.cut_sums", _sum_content(data, terms, number)
    return []


def _sums(rng: np.random.Generator) -> Dialogue:
    """A key, and two sums of a run in which all other keys are the server's."""
    own, votes = [Key.generate() for _ in range(2)], rng.random() < 0.5
    reply = yield "query.keys", _task(SCHEMA, 1)
    aggregation = "moral-votes" if votes else "secure-sums"
    poolings = () if votes else ("mean",)
    members = _members(reply, own)
    terms = Terms("7", SCHEMA.hash, aggregation, 1, 10, 1, poolings, members, counts=1)
    n, order = SCHEMA.n, tuple(int(k) for k in rng.permutation(SCHEMA.n))
    family = Family(0, (1, 2))
    asked: list[SumRequest] = [VoteRequest(None, False), CountRequest((family,), False)]
    if not votes:
        begun = OrderState(0, 0, (), order[: n - 1] if rng.random() < 0.5 else ())
        asked = [OrderRequest(((),), (begun,)), UnionRequest(((),), (UnionState(0, 0, order),))]
    found = []
    for number, request in enumerate(asked, start=1):
        data = to_bytes(request, terms.session, number)
        reply = yield "train.sums", _sum_content(data, terms, number)
        if not reply.has_error() and not isinstance(request, UnionRequest):
            found.append(_unmask(reply, data, terms, own, word_of(request, n, 3, 1)))
    return found


def _members(reply: Message, own: Sequence[Key]) -> tuple[Member, ...]:
    keys = [key.public for key in own]
    if not reply.has_error():
        record = reply.content["keys"]
        assert isinstance(record, ConfigRecord)
        assert isinstance(record["public"], bytes)
        keys.append(record["public"])
    members = [Member(f"z{k}", key.hex()) for k, key in enumerate(keys)]
    return tuple(sorted(members, key=lambda member: (member.name, member.public)))


def _sum_content(data: bytes, terms: Terms, number: int) -> RecordDict:
    sums = ConfigRecord({"request": data})
    if number == 1:
        sums["terms"] = terms.to_text()
    return RecordDict({"task": ConfigRecord({"run": "7", "round": number}), "sums": sums})


def _unmask(
    reply: Message, data: bytes, terms: Terms, own: Sequence[Key], words: type[np.unsignedinteger]
) -> list[int]:
    """What the site added to a sum, seen by whoever has all other keys."""
    total: Masked = _masked_in(reply)
    for key in own:
        pairs = pair_keys(key, terms.roster, terms.session)
        nothing = np.zeros(total.shape, dtype=np.int64)
        total = total + mask(nothing, pairs, request_digest(data), words)
    found: list[int] = total.view(SIGNED[total.dtype]).tolist()
    return found


def _masked_in(reply: Message) -> Masked:
    record = reply.content["sums"]
    assert isinstance(record, ArrayRecord)
    return record["masked"].numpy()


DIALOGUES: Sequence[Callable[[np.random.Generator], Dialogue]] = (
    _rounds,
    _handshake,
    _cut_points,
    _sums,
)


def words_of(reply: Message) -> tuple[Any, ...]:
    """All that is in a reply; of structures that there are some, of what is drawn its form."""
    if reply.has_error():
        return (word(reply),)
    found: list[Any] = [word(reply)]
    for name, record in sorted(reply.content.items()):
        for key, value in sorted(record.items()):
            if name == "sums":
                masked = _masked_in(reply)
                found.append((name, key, str(masked.dtype), masked.shape))
            elif name in ("structures", "keys"):
                found.append((name, key))
            else:
                found.append((name, key, getattr(value, "data", value)))
    return tuple(found)


def hear(site: DeployedSite, run: Experiment, dialogue: Dialogue) -> tuple[Told, list[Any]]:
    """What a site tells in a dialogue, openly and under masks."""
    at_site, answers = RunAtSite(site, run), Told()
    try:
        kind, content = next(dialogue)
        while True:
            reply = at_site.send(kind, content)
            answers.append((kind, *words_of(reply)))
            kind, content = dialogue.send(reply)
    except StopIteration as end:
        return answers, end.value


def _structure_of(site: DeployedSite) -> tuple[bytes, ...]:
    reply = site.send(Experiment(), "train", task(SCHEMA))
    return tuple(array.tobytes() for array in arrays_of(reply, "structures").values())


def rows(rng: np.random.Generator) -> list[str]:
    """A table's lines: a record number, an age and two states."""
    states, ages = rng.integers(0, 3, (ROWS, 2)), rng.integers(20, 80, ROWS)
    dependent = np.where(rng.random(ROWS) < 0.6, states[:, 0], states[:, 1])
    pairs = zip(ages.tolist(), states[:, 0].tolist(), dependent.tolist(), strict=True)
    return [f"{1000 + k},{age},{b},{c}" for k, (age, b, c) in enumerate(pairs)]


def neighbours(rng: np.random.Generator) -> tuple[list[str], list[str]]:
    """Two tables that differ in one row: changed, or gone."""
    first, place = rows(rng), int(rng.integers(ROWS))
    if rng.random() < 0.3:
        return first, [*first[:place], *first[place + 1 :]]
    return first, [*first[:place], rows(rng)[place], *first[place + 1 :]]


def two_sites(folder: Path) -> list[DeployedSite]:
    """Two sites with one strict file, as it is written for a table."""
    sites = []
    for name in ("one", "other"):
        (folder / name).mkdir()
        table = folder / name / "north.csv"
        table.write_text(_text(rows(np.random.default_rng(0))))
        text = site_text(table, name="north", schema=SCHEMA)
        sites.append(DeployedSite(folder / name, table.read_text(), text))
    return sites


def _text(lines: Sequence[str]) -> str:
    return "record,age,b,c\n" + "\n".join(lines) + "\n"


def search(folder: Path, pairs: int, seed: int) -> tuple[Counter[tuple[str, str]], list[str]]:
    """(kind, word) -> answers that were compared, and what differed.

    Parameters
    ----------
    folder : an empty one.
    pairs : of tables; each hears every kind of dialogue once.
    seed : of tables and dialogues.
    """
    rng, sites = np.random.default_rng(seed), two_sites(folder)
    heard: Counter[tuple[str, str]] = Counter()
    different = []
    for pair in range(pairs):
        for site, lines in zip(sites, neighbours(rng), strict=True):
            site.table.write_text(_text(lines))
            site.prepare(confirmed=True)
            budget_beside(log_beside(site.table)).unlink(missing_ok=True)
        same = len({_structure_of(site) for site in sites}) == 1
        begins: list[Callable[[np.random.Generator], Dialogue]] = [partial(_alone, turn=pair)]
        for begin in (*begins, *DIALOGUES):
            run = RUNS[int(rng.integers(len(RUNS)))] if rng.random() < 0.5 else Experiment()
            number = int(rng.integers(2**32))
            (one, masked), (other, masked_too) = (
                hear(site, run, begin(np.random.default_rng(number))) for site in sites
            )
            if one != other or (same and masked != masked_too):
                different.append(f"pair {pair}: {one} and {other}")
            heard.update((kind, said) for kind, said, *_ in one)
    return heard, different


def main(
    pairs: Annotated[int, typer.Option(help="Pairs of neighbouring tables.")] = 200,
    seed: Annotated[int, typer.Option(help="Of tables and dialogues.")] = 30,
) -> None:
    """Search, and print how many answers were compared by kind and word, then what differed."""
    logging.disable(logging.ERROR)
    with tempfile.TemporaryDirectory() as folder:
        heard, different = search(Path(folder), pairs, seed)
    print("| kind | word | answers |\n|---|---|---|")
    for (kind, said), number in sorted(heard.items()):
        print(f"| {kind} | {said} | {number} |")
    print(f"\n{heard.total()} answers of {pairs} pairs compared, {len(different)} dialogues differ")
    for words in different[:20]:
        print(words)
    asked, subtracted = subtractions(pairs, seed)
    print("\n| first | second | word | pairs |\n|---|---|---|---|")
    for (first, second, said), number in sorted(asked.items()):
        print(f"| {first} | {second} | {said} | {number} |")
    print(f"\n{asked.total()} pairs of questions to a site that counts, {len(subtracted)} subtract")
    for words in subtracted[:20]:
        print(words)
    if different or subtracted:
        raise typer.Exit(1)


def subtractions(pairs: int, seed: int) -> tuple[Counter[tuple[str, str, str]], list[str]]:
    """As `subtract`, in a folder for the time."""
    with tempfile.TemporaryDirectory() as folder:
        return subtract(Path(folder), pairs, seed)


if __name__ == "__main__":
    typer.run(main)
