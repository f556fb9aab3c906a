"""A site's part in cut points under masks (`fedbn.federation.secure_cuts`); what it keeps of a run
is in Flower's context."""

from __future__ import annotations

from flwr.app import ConfigRecord

from clients.request import Request
from clients.requests import run_of, sum_of
from clients.secure_sums import require_company, signed_record
from fedbn.arrays import Ints, Masked
from fedbn.errors import PolicyError
from fedbn.federation.secure_cuts import (
    ASKED,
    NOTHING_ASKED,
    CutSumRequest,
    SizeRequest,
    allow,
    own_counts,
    own_sizes,
    word_of_cuts,
)
from fedbn.secure.masks import Key, mask, pair_keys, request_digest
from fedbn.secure.session import CUT_POINTS, Terms

__all__ = ["cut_key", "masked_cuts"]

SESSION = "cuts-session"


def cut_key(request: Request) -> ConfigRecord:
    """A public key for the sums of a run; the same again where it is asked for again."""
    run, session = run_of(request.message), _session(request)
    if session is None or session["run"] != run:
        session = ConfigRecord({"run": run, "private": Key.generate().private})
        request.context.state[SESSION] = session
    return signed_record(request, run, _key_of(session))


def masked_cuts(request: Request) -> Masked:
    """The masked vector for a request; the site remembers that it was asked. Raises PolicyError
    where the company is not wanted, or neither the protocol nor the site's rules for histograms let
    this be asked now."""
    session, question = _session(request), sum_of(request.message)
    if session is None:
        raise PolicyError("query", "a sum was asked for before the key of the run")
    key = _key_of(session)
    if question.terms is not None and "terms" not in session:
        terms = question.terms
        if terms.run != session["run"] or terms.aggregation != CUT_POINTS:
            raise PolicyError("query", "the terms are those of another run")
        require_company(request, terms, key.public)
        session["terms"], session["asked"] = terms.to_text(), ASKED.encode(NOTHING_ASKED)
    if "terms" not in session:
        raise PolicyError("query", "a sum was asked for before the terms were told")
    terms = Terms.from_text(str(session["terms"]))
    asked, after = allow(question.data, ASKED.decode(session["asked"]), terms)
    values = _values(request, asked)
    session["asked"] = ASKED.encode(after)
    request.context.state[SESSION] = session
    pairs = pair_keys(key, terms.roster, terms.session)
    word = word_of_cuts(asked, len(terms.members))
    return mask(values, pairs, request_digest(question.data), word)


def _values(request: Request, asked: CutSumRequest) -> Ints:
    if isinstance(asked, SizeRequest):
        return own_sizes(asked, request.numbers())
    return own_counts(asked.question, request.histogram(asked.question, asked.most))


def _session(request: Request) -> ConfigRecord | None:
    """What is kept of a run, as a copy."""
    record = request.context.state.get(SESSION)
    return ConfigRecord(dict(record)) if isinstance(record, ConfigRecord) else None


def _key_of(session: ConfigRecord) -> Key:
    private = session["private"]
    assert isinstance(private, bytes)
    return Key(private)
