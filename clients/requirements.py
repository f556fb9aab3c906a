"""What must be allowed before a message is answered: each looks at the request, at no cell.

A requirement raises PolicyError with the word that may leave, or ConfigError for a run that is not
as such runs must be. The table of handlers (`clients.client_app`) says which kind needs which.
"""

from __future__ import annotations

from collections.abc import Callable

from clients.local_data import own_table
from clients.request import Request
from clients.requests import agreed_of, cuts_of, question_of, require_version, task_of
from fedbn.federation.policy import refusal
from fedbn.federation.private_runs import require_private_run
from fedbn.federation.site_table import require_admitted
from fedbn.learners import kind_of_score

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
    if request.deployed:
        request.site.offers.require_named(request.run.learner)
    request.site.policy.require_kind(kind_of_score(request.run.learner.score))
    request.site.offers.take_up(request.run, deployed=request.deployed)


def table_may_take_part(request: Request) -> None:
    """There are enough rows, and all columns may be named."""
    policy = request.site.policy
    if request.contract is not None:
        policy.require_rows(request.contract.rows)
        policy.require_names(request.contract.schema.names)
    elif not request.deployed:
        own = own_table(request.run, request.context.node_config)
        if own is not None:
            require_admitted(own[0], request.run.tables, own[1])


def same_contract(request: Request) -> None:
    """The run wants the table as the contract has it."""
    if not request.deployed:
        return
    contract = request.agreed
    contract.require_named(request.run.federation.contract)
    contract.require_kind(kind_of_score(request.run.learner.score))
    contract.require_reading(request.run.tables)


def known_question(request: Request) -> None:
    """A question for columns names no other states and cut points than the contract."""
    if request.deployed:
        agreed = agreed_of(request.message)
        if agreed is not None:
            request.agreed.require_schema(agreed)
        request.agreed.require_cuts(cuts_of(request.message))


def same_schema(request: Request) -> None:
    """The task's columns, states and cut points are the contract's, and the policy has them."""
    schema = task_of(request.message).schema
    request.site.policy.require_schema(schema)
    if request.deployed:
        request.agreed.require_schema(schema)


def open_answers(request: Request) -> None:
    """The site answers in the open."""
    request.site.policy.require_open()


def open_counts(request: Request) -> None:
    """The site counts its numbers in the open; which columns hold some it tells in any case."""
    if question_of(request.message) is not None:
        request.site.policy.require_open()


def peers(request: Request) -> None:
    """A site that answers under secure sums only knows with whom: keys are no sites."""
    if request.site.policy.secure_sums and request.deployed and request.site.peers is None:
        raise refusal("min-cohort", "secure-sums = true needs [peers] in the site's file")


def private_learner(request: Request) -> None:
    """The learner is private where only such structures may leave; its run is as it must be."""
    request.site.policy.require_private(request.guarantee)
    require_private_run(request.run)
    if request.guarantee is not None and request.deployed and request.site.schema is None:
        raise refusal("schema", "a private run needs `schema` in the site's file")


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
