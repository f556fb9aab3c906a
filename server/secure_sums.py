"""Secure sums over Flower's grid: ask every site, add up the masked answers, ask again.

All sites of the cohort must answer every request: one that does not is asked again with the same
bytes, and then the run ends and names it. Nothing of such a round can be read. Where it was a
request for counts, which a site's policy may refuse, the result is what was known before.

Groups that are given are cohorts of their own, one after the other: sites agree on the schema
together; keys, roster, terms and all sums are those of one group. Where sites have different
columns, a group has the columns of its own sites, and blocks are made within it.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from flwr.app import ConfigRecord, Message, MessageType, RecordDict

from fedbn.arrays import Masked
from fedbn.data.schema import Schema
from fedbn.errors import ConfigError, MessageError, QuorumError
from fedbn.federation.grouped_sums import GroupedSums, GroupOfSums, numbered_groups
from fedbn.federation.records import KEYS as KEY_RECORD
from fedbn.federation.records import MASKED
from fedbn.federation.reply_limits import Limits
from fedbn.federation.run_remarks import run_remarks
from fedbn.federation.secure_counting import summed_choice, summed_parameters
from fedbn.federation.secure_rounds import (
    SecureResult,
    SumCost,
    answered_columns,
    result_of,
    search_of,
    terms_of,
)
from fedbn.federation.secure_summing import summed_choice_by_scatters, summed_equations
from fedbn.federation.settings import Experiment
from fedbn.groups.given import groups_of_sites
from fedbn.networks.parameter_sources import FittedParameters
from fedbn.secure.masks import unmasked_sum
from fedbn.secure.requests import SumRequest, to_bytes
from fedbn.secure.session import Member, Terms
from fedbn.wire.sender import said_by
from fedbn.wording import list_some
from server.handshake import Handshake
from server.parameters import tell
from server.replies import (
    LOG,
    REMARKS,
    Sites,
    arrays_in,
    content_of,
    diagnostic,
    replies_by_node,
    task_record,
)

KEYS, SUMS = f"{MessageType.QUERY}.keys", f"{MessageType.TRAIN}.sums"
GONE = 5
"""Flower's code for a node that is not there."""

T = TypeVar("T")

MAX_BYTES = 2**30
"""Of one masked vector."""


@dataclass
class Cohort:
    """The sites of a run, as the server reaches them.

    Attributes
    ----------
    sites, retries : all that must answer; how often to ask one again.
    rounds, up, down, seconds : of one site so far; CPU seconds as the sites told them, of all.
    waited : CPU seconds of this process while the sites answered.
    """

    sites: Sites
    retries: int
    rounds: int = 0
    up: int = 0
    down: int = 0
    seconds: list[float] = field(default_factory=list)
    waited: float = 0.0

    @property
    def clients(self) -> Mapping[int, str]:
        """Node id -> name."""
        return self.sites.clients

    @property
    def cost(self) -> SumCost:
        """What it took so far."""
        seconds = sum(self.seconds) / len(self.clients) if self.seconds else None
        return SumCost(self.rounds, self.up, self.down, seconds)

    def ask(self, category: str, contents: Mapping[int, RecordDict]) -> dict[int, RecordDict]:
        """Node id -> its answer, of every node; raises QuorumError where a site refused, failed, or
        was asked often enough."""
        began = time.process_time()
        try:
            answers = self._answers(category, contents)
        finally:
            self.waited += time.process_time() - began
        self.rounds += 1
        return answers

    def _answers(self, category: str, contents: Mapping[int, RecordDict]) -> dict[int, RecordDict]:
        answers: dict[int, RecordDict] = {}
        for attempt in range(self.retries + 1):
            missing = [node for node in sorted(contents) if node not in answers]
            if not missing:
                break
            if attempt:
                LOG.warning("asked again: %s", ", ".join(self.clients[node] for node in missing))
            messages = [Message(contents[node], node, category) for node in missing]
            for node, reply in replies_by_node(
                self.sites.grid, messages, self.sites.timeout
            ).items():
                if not (reply.has_error() and reply.error.code == GONE):
                    answers[node] = self._content(reply, node)
        silent = [self.clients[node] for node in contents if node not in answers]
        if silent:
            raise QuorumError(
                f"every site of a secure sum must answer, {', '.join(sorted(silent))} did not, "
                f"after {self.retries + 1} requests: nothing of this round can be read"
            )
        return answers

    def _content(self, reply: Message, node: int) -> RecordDict:
        try:
            with said_by(self.clients[node]):
                return content_of(reply)
        except MessageError as error:
            raise QuorumError(
                f"every site of a secure sum must answer: {error}; this round cannot be read"
            ) from None


def secure_federation(
    shaken: Handshake, run: Experiment, name: str | None = None, part: Schema | None = None
) -> tuple[SecureResult, FittedParameters | None, float]:
    """The result of a run under secure sums, its parameters (None where nobody wanted them), and
    the CPU seconds of the server. `name` is the run's, by which its sites make their keys: random,
    unless the run outlives this process and has kept it. `part` has those of the agreed columns
    that any of these sites has; None for all.

    Raises QuorumError: a site did not answer, or refused; ConfigError, SearchError: the settings do
    not fit, or there is too much to ask.
    """
    settings, schema = run.consensus, part or shaken.state.schema
    answered = answered_columns(columns_here(shaken), schema, run)
    _warn_of_silent(columns_here(shaken), answered, settings.min_alike)
    cohort = Cohort(shaken.sites, settings.sum_retries)
    began = time.process_time()
    name = name or secrets.token_hex(16)
    members = _members(cohort, shaken, name, schema)
    by_member = {each: answered[cohort.clients[k]] for k, each in members.items() if answered}
    terms = terms_of(name, schema, run, list(members.values()), by_member)
    found = _drive(search_of(schema, terms, run), cohort, terms)
    result = result_of(found, schema, terms, shaken.state.refused, settings, cohort.cost)
    fitted, lacking, counted = None, None, schema.kind == "categorical"
    if settings.choose != "smhd":
        choose = summed_choice if counted else summed_choice_by_scatters
        result, lacking = _drive(choose(result, run), cohort, terms)
        if lacking is not None:
            for remark in run_remarks(result):
                REMARKS.warning("%s", remark)
    if run.rounds.parameters == "federated":
        fit = summed_parameters if counted else summed_equations
        fitted = FittedParameters.without(lacking or "")
        if lacking is None:
            result, fitted = _drive(fit(result, run), cohort, terms)
        tell(fitted.sources)
    seconds = time.process_time() - began - cohort.waited
    return replace(result, cost=cohort.cost), fitted, seconds


def grouped_federation(
    shaken: Handshake, run: Experiment, name: str | None = None
) -> tuple[GroupedSums, float]:
    """The results of all groups, and the CPU seconds of the server; parameters as of
    `secure_federation`.

    Raises ConfigError: a site has no group, the file cannot be read, or as `secure_federation`,
    before any sum is asked for; QuorumError: a site did not answer, or refused; the message names
    the group.
    """
    assert run.consensus.groups_file is not None
    given, missing = groups_of_sites(run.consensus.groups_file, shaken.sites.clients.values())
    if missing:
        LOG.warning("groups are given for sites that are not here: %s", ", ".join(missing))
    cohorts = [
        (called, *_cohort_of(called, shaken.only(sites), run))
        for called, sites in numbered_groups(given)
    ]
    groups, seconds = [], 0.0
    for called, own, own_run, part in cohorts:
        members = list_some(sorted(own.sites.clients.values()), 8)
        LOG.info("group %r: a cohort of %s", called, members)
        try:
            result, fitted, spent = secure_federation(own, own_run, name, part)
        except QuorumError as error:
            raise QuorumError(f"group {called!r}: {error}") from None
        network, sources = (None, None) if fitted is None else (fitted.network, fitted.sources)
        groups.append(GroupOfSums(called, result, network, sources))
        seconds += spent
    agreed, refused = shaken.state.schema, shaken.state.refused
    return GroupedSums(agreed, tuple(groups), refused, run.consensus.known), seconds


def _cohort_of(
    called: str, own: Handshake, run: Experiment
) -> tuple[Handshake, Experiment, Schema]:
    """A group's sites, a run of these alone, and the schema of the columns that they have; of what
    is known the run keeps what is about these. Raises ConfigError where they make no blocks."""
    columns, known = columns_here(own), run.consensus.known
    names = sorted(set().union(*columns.values()))
    schema = own.state.schema.restrict(names)
    try:
        answered_columns(columns, schema, run)
    except ConfigError as error:
        raise ConfigError(f"group {called!r}: {error}") from None
    if known is not None:
        run = replace(run, consensus=replace(run.consensus, known=known.among(names)))
    return own, run, schema


def _drive(search: Generator[SumRequest, Any, T], cohort: Cohort, terms: Terms) -> T:
    """What a search finds that is sent the sums it asks for, or why there are none; raises
    QuorumError where it cannot go on without, as where a sum of structures is none that honest
    sites can have."""
    try:
        request = next(search)
        while True:
            data = to_bytes(request, terms.session, cohort.rounds)
            try:
                sums = unmasked_sum(ask_masked(cohort, data, terms))
            except (QuorumError, MessageError) as error:
                request = search.throw(error)
            else:
                request = search.send(sums)
    except StopIteration as end:
        found: T = end.value
        return found
    except MessageError as error:
        raise QuorumError(f"secure sums: {error}") from None


def columns_here(shaken: Handshake) -> dict[str, tuple[str, ...]]:
    """Client -> its columns, of the clients of this cohort."""
    return {name: shaken.columns[name] for name in shaken.sites.clients.values()}


def _warn_of_silent(
    columns: Mapping[str, tuple[str, ...]], answered: Mapping[str, tuple[int, ...]], least: int
) -> None:
    """Say which sites answer for fewer columns than they have, and for how many."""
    fewer = [
        f"{name} ({len(own)} of {len(columns[name])})"
        for name, own in answered.items()
        if len(own) < len(columns[name])
    ]
    if fewer:
        LOG.warning(
            "fewer than %d sites have the same columns as these, which answer for those alone that "
            "all of their block have: %s",
            least,
            list_some(sorted(fewer), 8, quoted=False),
        )


def _members(cohort: Cohort, shaken: Handshake, run: str, summed: Schema) -> dict[int, Member]:
    """The public keys of all sites, by their nodes; they learn meanwhile, under the agreed schema,
    but sums are under `summed`."""
    schema, contents = shaken.state.schema, {}
    columns = "" if summed == schema else json.dumps(summed.names)
    for node in cohort.clients:
        report = shaken.remarks.get(node, "")
        task = task_record(schema, 1, run=run, report=report, columns=columns)
        contents[node] = RecordDict({"task": task})
    return members_of(cohort, KEYS, contents)


def members_of(cohort: Cohort, kind: str, contents: Mapping[int, RecordDict]) -> dict[int, Member]:
    """The public keys of all sites that were asked for them by messages of a kind, by node."""
    answers = cohort.ask(kind, contents)
    return {node: _member(answer, cohort.clients[node]) for node, answer in answers.items()}


def _member(answer: RecordDict, client: str) -> Member:
    with _of_all(client):
        key = KEY_RECORD.read(answer.get(KEY_RECORD.name))
    return Member(key.get("name", client), key["public"].hex(), key.get("signature", b"").hex())


def ask_masked(cohort: Cohort, data: bytes, terms: Terms, kind: str = SUMS) -> list[Masked]:
    """The masked vectors of all sites for a request; the first comes with the terms."""
    question: dict[str, Any] = {"request": data}
    if cohort.rounds == 1:
        question["terms"] = terms.to_text()
    record = ConfigRecord(question)
    task = ConfigRecord({"round": cohort.rounds})
    content = RecordDict({"task": task, "sums": record})
    answers = cohort.ask(kind, dict.fromkeys(cohort.clients, content))
    parts: list[Masked] = []
    for node in sorted(answers):
        with _of_all(cohort.clients[node]):
            arrays = arrays_in(answers[node], MASKED, Limits(max_bytes=MAX_BYTES))
            parts.append(MASKED.decode(arrays)["masked"])
        seconds = diagnostic(answers[node], "seconds", float)
        if seconds is not None:
            cohort.seconds.append(seconds)
    cohort.up += parts[0].nbytes
    cohort.down += len(data) + len(question.get("terms", ""))
    return parts


@contextmanager
def _of_all(client: str) -> Iterator[None]:
    """Inside, what is wrong with a client's answer ends the run, as nobody may be missing."""
    try:
        with said_by(client):
            yield
    except MessageError as error:
        raise QuorumError(str(error)) from None
