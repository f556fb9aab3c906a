"""What must be allowed before a message is answered: each looks at the request, at no cell.

A requirement raises PolicyError with the word that may leave, or ConfigError for a run that is not
as such runs must be. The table of handlers (`clients.client_app`) says which kind needs which.
"""

from __future__ import annotations

from collections.abc import Callable

from clients.request import Request
from clients.requests import question_of, require_version
from fedbn.federation.policy import refusal
from fedbn.federation.private_runs import require_private_run

__all__ = [
    "Requirement",
    "counts",
    "histograms",
    "known_question",
    "open_answers",
    "open_counts",
    "peers",
    "private_learner",
    "public_learner",
    "same_contract",
    "same_schema",
    "same_version",
    "table_may_take_part",
    "within_offers",
]

Requirement = Callable[[Request], None]


def same_version(request: Request) -> None:
    """The server has this version of fedbn."""
    require_version(request.message)


def within_offers(request: Request) -> None:
    """The run asks for nothing that the site does not offer."""
    request.require_offers()


def table_may_take_part(request: Request) -> None:
    """There are enough rows, and all columns may be named."""
    request.require_admitted()


def same_contract(request: Request) -> None:
    """The run wants the table as the contract has it."""
    request.require_contract()


def known_question(request: Request) -> None:
    """A question for columns names no other states and cut points than the contract."""
    request.require_question()


def same_schema(request: Request) -> None:
    """The task's columns, states and cut points are the contract's, and the policy has them."""
    request.require_schema(request.task.schema)


def open_answers(request: Request) -> None:
    """The site answers in the open."""
    request.site.policy.require_open()


def open_counts(request: Request) -> None:
    """The site counts its numbers in the open; which columns hold some it tells in any case."""
    if question_of(request.message) is not None:
        request.site.policy.require_open()


def peers(request: Request) -> None:
    """A site that answers under secure sums only knows with whom: keys are no sites."""
    request.require_peers()


def private_learner(request: Request) -> None:
    """The learner is private where only such structures may leave; its run is as it must be."""
    request.site.policy.require_private(request.guarantee)
    require_private_run(request.run)
    if request.guarantee is not None:
        request.require_own_schema()


def public_learner(request: Request) -> None:
    """A private run sends structures alone."""
    if request.guarantee is not None:
        raise refusal("max-epsilon", "a private run sends structures alone")


def counts(request: Request) -> None:
    """Exact counts may leave."""
    request.site.policy.require_exact()


def histograms(request: Request) -> None:
    """Counts of numbers may leave."""
    request.site.policy.require_histograms()
