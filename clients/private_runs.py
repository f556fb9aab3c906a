"""A site's part in a run with a private learner: limits, ledger, answers that are drawn once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict

from flwr.app import ArrayRecord, ConfigRecord

from clients.read_requests import Task, arrays_in, record_of
from clients.request import Request
from fedbn.errors import ConfigError
from fedbn.federation.message import STRUCTURES, StructureMessage, from_arrays, to_arrays
from fedbn.privacy.ledger import Ledger, keyed_digest, reserve

ANSWER = "private-answer"


@contextmanager
def reserve_epsilon(request: Request, task: Task) -> Iterator[None]:
    """Write into the site's ledger what the run spends, before the first cell is read. Whatever
    goes wrong inside stays charged, and is one word: a refusal that depends on cells would be a
    question that costs nothing.

    Raises PolicyError where the site's limit on ε would be exceeded, and nothing is written;
    ResultsError where the ledger cannot be read or written.
    """
    guarantee, site, learner = request.guarantee, request.site, request.run.learner
    if guarantee is None or site.ledger is None or request.contract is None:
        yield
        return
    limits = {}
    if site.policy.max_epsilon is not None:
        limits = {"max_epsilon": site.policy.max_epsilon, "max_delta": site.policy.delta}
    site.policy.require_meaningful(guarantee, request.contract.rows)
    reserve(
        site.ledger,
        guarantee,
        run=str(request.context.run_id),
        round=task.round,
        table=keyed_digest(request.contract.digest, site.ledger),
        mechanism=learner.learner,
        parameters={
            "dp-edges": learner.dp_edges,
            "max-parents": learner.max_parents,
            "bounds": learner.bounds,
        },
        **limits,
    )
    try:
        yield
    except Exception as error:
        raise ConfigError(f"a private run that was charged went wrong: {error}") from error


def kept_structures(request: Request, task: Task) -> StructureMessage | None:
    """What this question was answered with before: it is sent again, never drawn anew."""
    kept = request.context.state.get(ANSWER)
    if request.guarantee is None or not isinstance(kept, ArrayRecord):
        return None
    if request.context.state[f"{ANSWER}-to"]["question"] != _question(request, task):
        return None
    return from_arrays(arrays_in(kept, STRUCTURES), task.schema)


def keep_structures(request: Request, task: Task, structures: StructureMessage) -> None:
    """Keep an answer for the case that it is asked for again."""
    if request.guarantee is not None:
        kept = ConfigRecord({"question": _question(request, task)})
        request.context.state[ANSWER] = record_of(to_arrays(structures))
        request.context.state[f"{ANSWER}-to"] = kept


def _question(request: Request, task: Task) -> str:
    """What an answer is an answer to: run and round, learner with its ε, and the contract. Flower
    keeps a node's state over a series of runs."""
    contract = "" if request.contract is None else request.contract.hash
    settings = asdict(request.run.learner)
    asked = [str(request.context.run_id), task.round, task.schema.hash, contract, settings]
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode("utf-8")).hexdigest()


def spent_words(request: Request) -> list[str]:
    """What the disclosure log says of ε; nothing where nothing is promised."""
    guarantee, ledger = request.guarantee, request.site.ledger
    if guarantee is None or ledger is None:
        return []
    total = Ledger.read(ledger).epsilon(guarantee.delta)
    return [guarantee.words, f"ε {total:.4g} in all"]
