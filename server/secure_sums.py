"""Secure sums over Flower's grid: ask every site, add up the masked answers, ask again.

All sites of the cohort must answer every request: one that does not is asked again with the same
bytes, and then the run ends and names it. Nothing of such a round can be read.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Message, MessageType, RecordDict
from flwr.serverapp import Grid

from fedbn.arrays import Masked
from fedbn.errors import MessageError, QuorumError
from fedbn.federation.message import array_of_npy, schema_to_text
from fedbn.federation.secure_rounds import SecureResult, SumCost, result_of, search_of, terms_of
from fedbn.federation.settings import Experiment
from fedbn.secure.masks import unmasked_sum
from fedbn.secure.requests import to_bytes
from fedbn.secure.session import Member
from server.handshake import Handshake
from server.replies import LOG, content_of, diagnostic

KEYS, SUMS = f"{MessageType.QUERY}.keys", f"{MessageType.TRAIN}.sums"
GONE = 5
"""Flower's code for a node that is not there."""

MAX_BYTES = 2**30
"""Of one masked vector."""


@dataclass
class Cohort:
    """The sites of a run, as the server reaches them.

    Attributes
    ----------
    grid, clients : node id -> name.
    timeout, retries : seconds to wait for the replies to a request; how often to ask again.
    rounds, up, down, seconds : of one site so far; CPU seconds as the sites told them, of all.
    """

    grid: Grid
    clients: Mapping[int, str]
    timeout: float
    retries: int
    rounds: int = 0
    up: int = 0
    down: int = 0
    seconds: list[float] = field(default_factory=list)

    def ask(self, category: str, contents: Mapping[int, RecordDict]) -> dict[int, RecordDict]:
        """Node id -> its answer, of every node.

        Raises
        ------
        QuorumError : a site refused, failed, or was asked often enough.
        """
        answers: dict[int, RecordDict] = {}
        for attempt in range(self.retries + 1):
            missing = [node for node in sorted(contents) if node not in answers]
            if not missing:
                break
            if attempt:
                LOG.warning("asked again: %s", ", ".join(self.clients[node] for node in missing))
            messages = [Message(contents[node], node, category) for node in missing]
            for reply in self.grid.send_and_receive(messages, timeout=self.timeout):
                node = reply.metadata.src_node_id
                if reply.has_error() and reply.error.code == GONE:
                    continue
                if node in missing:
                    answers[node] = self._content(reply, node)
        silent = [self.clients[node] for node in contents if node not in answers]
        if silent:
            raise QuorumError(
                f"every site of a secure sum must answer, {', '.join(sorted(silent))} did not, "
                f"after {self.retries + 1} requests: nothing of this round can be read"
            )
        self.rounds += 1
        return answers

    def _content(self, reply: Message, node: int) -> RecordDict:
        try:
            return content_of(reply, self.clients[node])
        except MessageError as error:
            raise QuorumError(
                f"every site of a secure sum must answer: {error}; this round cannot be read"
            ) from None


def secure_federation(
    grid: Grid, shaken: Handshake, experiment: Experiment, timeout: float
) -> tuple[SecureResult, float]:
    """The result of a run under secure sums, and the CPU seconds of the server.

    Raises
    ------
    QuorumError : a site did not answer, or refused.
    ConfigError, SearchError : the settings do not fit, or there is too much to ask.
    """
    settings, schema = experiment.consensus, shaken.state.schema
    search = search_of(schema, len(shaken.clients), settings)
    cohort = Cohort(grid, shaken.clients, timeout, settings.sum_retries)
    run = secrets.token_hex(16)
    members = _members(cohort, shaken, run)
    terms = terms_of(run, schema, settings, members)
    began, own = time.process_time(), 0.0
    try:
        request = next(search)
        while True:
            data = to_bytes(request, terms.session, cohort.rounds)
            own += time.process_time() - began
            parts = _masked(cohort, data, terms.to_text() if cohort.rounds == 1 else None)
            began = time.process_time()
            request = search.send(unmasked_sum(parts))
    except StopIteration as end:
        found = end.value
    seconds = sum(cohort.seconds) / len(cohort.clients) if cohort.seconds else None
    cost = SumCost(cohort.rounds, cohort.up, cohort.down, seconds)
    result = result_of(found, schema, terms, shaken.state.refused, settings, cost)
    return result, own + time.process_time() - began


def _members(cohort: Cohort, shaken: Handshake, run: str) -> list[Member]:
    """The public keys of all sites, which learn meanwhile."""
    schema = shaken.state.schema
    contents = {}
    for node in cohort.clients:
        task = ConfigRecord({"text": schema_to_text(schema), "hash": schema.hash, "round": 1})
        task["run"] = run
        if remark := shaken.remarks.get(node, ""):
            task["report"] = remark
        contents[node] = RecordDict({"task": task})
    answers = cohort.ask(KEYS, contents)
    return [_member(answer, cohort.clients[node]) for node, answer in answers.items()]


def _member(answer: RecordDict, client: str) -> Member:
    record = answer.get("keys")
    public = record.get("public") if isinstance(record, ConfigRecord) else None
    if not isinstance(record, ConfigRecord) or not isinstance(public, bytes) or len(public) != 32:
        raise QuorumError(f"{client}: the answer must hold a public key of 32 bytes")
    name, signature = record.get("name"), record.get("signature")
    return Member(
        name=name if isinstance(name, str) else client,
        public=public.hex(),
        signature=signature.hex() if isinstance(signature, bytes) else "",
    )


def _masked(cohort: Cohort, data: bytes, terms: str | None) -> list[Masked]:
    """The masked vectors of all sites for a request."""
    question: dict[str, Any] = {"request": data}
    if terms is not None:
        question["terms"] = terms
    record = ConfigRecord(question)
    task = ConfigRecord({"round": cohort.rounds})
    content = RecordDict({"task": task, "sums": record})
    answers = cohort.ask(SUMS, dict.fromkeys(cohort.clients, content))
    parts = []
    for node in sorted(answers):
        parts.append(_vector(answers[node], cohort.clients[node]))
        seconds = diagnostic(answers[node], "seconds", float)
        if seconds is not None:
            cohort.seconds.append(seconds)
    cohort.up += parts[0].nbytes
    cohort.down += len(data) + len(terms or "")
    return parts


def _vector(answer: RecordDict, client: str) -> Masked:
    record = answer.get("sums")
    array = record.get("masked") if isinstance(record, ArrayRecord) else None
    try:
        vector = array_of_npy(b"" if array is None else bytes(array.data), max_bytes=MAX_BYTES)
    except MessageError as error:
        raise QuorumError(f"{client}: {error}") from None
    if vector.dtype != np.uint64 or vector.ndim != 1:
        raise QuorumError(f"{client}: the answer must be a masked vector")
    return vector
