"""What a hostile run or server learns of a deployed site, through the installed client app.

Each attack gives what it learned; the secret is in the tables that are made here, so that whether
it is right can be told.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from flwr.app import ConfigRecord, Message, RecordDict

from fedbn.data.quantiles import ROUNDS, Question
from fedbn.data.schema import Schema, Variable
from fedbn.errors import MessageError
from fedbn.federation.family_message import FamilyRequest
from fedbn.federation.histogram_message import (
    histogram_from_text,
    kinds_from_text,
    question_to_text,
)
from fedbn.federation.reply_limits import Limits
from fedbn.federation.run_config import to_run_config
from fedbn.federation.schema_text import schema_from_text
from fedbn.federation.settings import Experiment
from fedbn.learners import LearnerSettings
from fedbn.networks.family_counts import Family, FamilyTables
from fedbn.secure.masks import SIGNED, Key, mask, pair_keys, request_digest
from fedbn.secure.requests import VoteRequest, to_bytes
from fedbn.secure.session import Member, Terms
from fedbn.secure.words import word_of
from simulations.benchmarks.sites.deployed_site import (
    ANSWERED,
    DeployedSite,
    RunAtSite,
    task,
    word,
)
from simulations.in_process_grid import InProcessGrid

HISTOGRAM = "query.histogram"
SMOKE = Variable("smoke", ("no", "yes"))
BITS = 36
"""Of a number's 64, as the three rounds of a histogram tell them."""


def told(site: DeployedSite, question: Question | None, run: Experiment) -> str:
    """The text of a site's answer to a question for histograms; raises MessageError."""
    record = ConfigRecord({"text": question_to_text(question)})
    reply = site.send(run, HISTOGRAM, RecordDict({"question": record}))
    if reply.has_error():
        raise MessageError(word(reply))
    return str(reply.content["histogram"]["text"])


def buckets(
    site: DeployedSite, number: int, prefixes: Mapping[str, Sequence[int]], run: Experiment
) -> dict[str, dict[int, int]]:
    """The counts of a round that asks for all of these buckets."""
    question = Question(number, {name: tuple(sorted(found)) for name, found in prefixes.items()})
    text = told(site, question, run)
    found = histogram_from_text(text, question, Limits()).counts
    return {name: dict(counts) for name, counts in found.items()}


def number_of(bucket: int) -> float:
    """The first number of a bucket of the last round."""
    bits = bucket << (64 - BITS)
    plain = bits ^ (1 << 63) if bits >> 63 else ~bits & (2**64 - 1)
    return float(np.array([plain], dtype=np.uint64).view(np.float64)[0])


def told_kinds(site: DeployedSite) -> dict[str, bool]:
    """Column of numbers that may be asked for -> whether there are many."""
    return kinds_from_text(told(site, None, Experiment()), Limits())


def numbers_by_histograms(site: DeployedSite) -> dict[str, dict[int, int]]:
    """Attack 1: column -> bucket -> rows, by asking in each round for all buckets found."""
    try:
        found: dict[str, dict[int, int]] = {name: {0: 1} for name in told_kinds(site)}
        for number in range(1, ROUNDS + 1):
            found = buckets(site, number, found, Experiment())
    except MessageError:
        return {}
    return found


def rows_by_differences(
    site: DeployedSite, all_rows: Mapping[str, Mapping[int, int]], records: Iterable[int]
) -> list[dict[str, float]]:
    """Attack 1, whole rows: what is gone of the last round when a record number is `missing`."""
    rows = []
    for record in records:
        run = Experiment.of(missing=(str(record),), missing_cells="drop-rows")
        prefixes = {name: {bucket >> 12 for bucket in found} for name, found in all_rows.items()}
        try:
            without = buckets(site, ROUNDS, prefixes, run)
        except MessageError:
            continue
        row = {}
        for name, found in all_rows.items():
            gone = [b for b, rows_in in found.items() if without[name].get(b, 0) < rows_in]
            row[name] = number_of(gone[0])
        rows.append(row)
    return rows


def rows_by_skipped_lines(site: DeployedSite, lines: Iterable[int]) -> list[set[str]]:
    """Attack 2: the cells of a row, which `skip-lines` makes names of columns."""
    found = []
    for line in lines:
        run = Experiment.of(skip_lines=line, leave_out_identifiers=True)
        reply = site.send(run, "query")
        if not reply.has_error():
            record = reply.content["schema"]
            found.append(set(schema_from_text(record["text"], record["hash"]).names))
    return found


def words_of_forms(site: DeployedSite) -> set[str]:
    """The words that a site answers when a run says how its file is written."""
    forms = (
        {"header": "no"},
        {"separator": ";"},
        {"separator": "|", "decimal": ","},
        {"encoding": "latin-1"},
        {"skip_lines": 1},
    )
    return {word(site.send(Experiment.of(**form), "query")) for form in forms}


def groups_by_failures(
    site: DeployedSite,
    groups: Sequence[str],
    column: str = "group",
    other: tuple[str, str] = ("hiv", "no"),
) -> dict[str, str]:
    """Attack 3: the word about each group, whose rows alone are left, under a schema without yes.

    A private learner with an ε beyond the site's limit: nothing is spent. The groups are states of
    `column`; of the other column the schema has one state alone.
    """
    words = {}
    for group in groups:
        others = tuple(each for each in groups if each != group)
        run = Experiment.of(
            schema="states.json",
            learner=LearnerSettings(learner="dp-ges", epsilon=5.0),
            missing=others,
            missing_cells="drop-rows",
        )
        schema = Schema.categorical({column: [group], other[0]: [other[1]]})
        words[group] = word(site.send(run, "train", task(schema)))
    return words


def states_by_cuts(
    site: DeployedSite,
    cuts: Sequence[tuple[float, float]],
    number: str = "age",
    column: Variable = SMOKE,
) -> list[set[str]]:
    """Attack 4: states of those between two cut points of a number, by two counts of one family."""
    found = []
    for low, high in cuts:
        tables = []
        for cut in (low, high):
            schema = Schema((Variable.cut(number, [cut]), column))
            family = Family(schema.names.index(column.name), (schema.names.index(number),))
            request = FamilyRequest(FamilyTables(schema, (family,)), with_own=False)
            answer, said = site.counts(Experiment(), request)
            if answer is None:
                assert said != ANSWERED
                break
            tables.append(answer.counts.table(family))
        if len(tables) == 2:
            more = tables[1][0] - tables[0][0]
            pairs = zip(column.states or (), more, strict=True)
            found.append({state for state, rows in pairs if rows})
    return found


def answers_at_once(site: DeployedSite, count: int) -> list[str]:
    """Attack 7: the words of so many messages that arrive together."""
    grids = [InProcessGrid(to_run_config(Experiment()), [site.node]) for _ in range(count)]

    def ask(grid: InProcessGrid) -> str:
        (node,) = grid.get_node_ids()
        (reply,) = grid.send_and_receive([Message(RecordDict(), node, "query")])
        return word(reply)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(ask, grids))


def moral_graph_of(site: DeployedSite, schema: Schema) -> str:
    """Attack 5: the word, or the site's own votes, when all other keys are the server's."""
    run = Experiment.of(aggregation="moral-votes")
    grid = RunAtSite(site, run)
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
    words = word_of(request, schema.n, 5, 1)
    for key in keys:
        pairs = pair_keys(key, terms.roster, terms.session)
        zeros = np.zeros(total.shape, dtype=np.int64)
        total = total + mask(zeros, pairs, request_digest(data), words)
    return " ".join(map(str, total.view(SIGNED[total.dtype]).tolist()))
