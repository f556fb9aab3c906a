"""A site's part in secure sums: what it keeps in Flower's context, and what leaves.

key of a run     learn, make a key, keep both here; the public key leaves, signed where the site
                 has an identity
sum              look at the company (first request), answer, mask
"""

from __future__ import annotations

import json
from dataclasses import replace

from flwr.app import ConfigRecord, Context

from clients.request import Request
from clients.requests import arrays_in, record_of, run_of, sum_of
from fedbn.arrays import Ints, Masked
from fedbn.errors import ConfigError, MessageError, PolicyError
from fedbn.federation.message import STRUCTURES as FORM
from fedbn.federation.message import StructureMessage, from_arrays, to_arrays
from fedbn.federation.reply_limits import Limits
from fedbn.federation.schema_text import schema_from_text, schema_to_text
from fedbn.networks.family_counts import count_families
from fedbn.secure.cohorts import enter_cohort
from fedbn.secure.family_sums import own_counts
from fedbn.secure.guard import Asked
from fedbn.secure.masks import Key
from fedbn.secure.requests import CountRequest
from fedbn.secure.session import Terms, require_cohort, signed_key
from fedbn.secure.site import Site, begin, join, reply

SESSION, STRUCTURES = "sums-session", "sums-structures"
"""The records of the context."""


def has_begun(request: Request) -> bool:
    """Whether this site has its key of the run already: the request for it is a repeated one."""
    context = request.context
    return SESSION in context.state and _session(context)["run"] == run_of(request.message)


def begin_sums(request: Request, structures: StructureMessage) -> None:
    """Keep the structures, and a new key, for a run."""
    message, context = request.message, request.context
    context.state[STRUCTURES] = record_of(to_arrays(structures))
    schema = request.task.schema
    context.state[SESSION] = ConfigRecord(
        {
            "run": run_of(message),
            "schema": schema_to_text(schema),
            "hash": schema.hash,
            "private": Key.generate().private,
            "own": json.dumps(list(request.names) if request.run.variables == "union" else []),
        }
    )


def own_key(request: Request) -> ConfigRecord:
    """The public key of the run as it leaves."""
    session = _session(request.context)
    return signed_record(request, str(session["run"]), Key(_bytes(session["private"])))


def signed_record(request: Request, run: str, key: Key) -> ConfigRecord:
    """A public key with the site's name, where it has one, and its signature."""
    rules, record = request.site, ConfigRecord({"public": key.public})
    if rules.name is not None:
        record["name"] = rules.name
    if rules.identity_key is not None:
        try:
            identity = rules.identity_key.read_bytes()
        except OSError as error:
            raise ConfigError(f"cannot read {rules.identity_key}: {error.strerror}") from None
        record["signature"] = signed_key(identity, run, str(rules.name), key.public)
    return record


def masked_answer(request: Request) -> Masked:
    """The masked vector for a request; the site remembers that it was asked. Raises PolicyError
    where the company is not wanted, the protocol does not ask this now, or counts may not leave."""
    context = request.context
    if SESSION not in context.state:
        raise PolicyError("query", "a sum was asked for before the key of the run")
    question = sum_of(request.message)
    site = _site(context)
    if question.terms is not None and site.terms is None:
        _look_at(question.terms, request, site)
        site = join(site, question.terms)
    masked, site = reply(site, question.data, lambda asked: _count(asked, request))
    assert site.terms is not None
    session = ConfigRecord(dict(_session(context)))
    session["terms"], session["asked"] = site.terms.to_text(), site.asked.to_text()
    context.state[SESSION] = session
    return masked


def _count(asked: CountRequest, request: Request) -> Ints:
    """Count families in this site's table, where the policy allows it."""
    session, policy = _session(request.context), request.site.policy
    schema = schema_from_text(session["schema"], session["hash"])
    request.require_public()
    request.require_offers()
    request.require_contract()
    request.require_schema(schema)
    request.require_counts()
    policy.require_unrounded()
    policy.require_counts(request.rows, asked.families)
    table = request.table(schema.cuts).dataset.with_schema(schema)
    request.enter_counts(lambda: count_families(table, asked.families))
    return own_counts(asked, table, request.run.learner.ess)


def _look_at(terms: Terms, request: Request, site: Site) -> None:
    """Refuse terms of another run, or company that this site does not want."""
    session = _session(request.context)
    if terms.run != session["run"] or terms.schema != session["hash"]:
        raise PolicyError("query", "the terms are those of another run")
    require_company(request, terms, site.key.public)


def require_company(request: Request, terms: Terms, public: bytes) -> None:
    """Refuse company that this site, whose key of the run is `public`, does not want, by its rules
    and its past."""
    rules = request.site
    limit, peers = rules.policy.min_cohort, rules.peers
    if rules.cohorts is None:
        require_cohort(terms, public, min_cohort=limit, peers=peers)
    else:
        enter_cohort(rules.cohorts, terms, public, min_cohort=limit, peers=peers)


def _site(context: Context) -> Site:
    """The site as the context keeps it."""
    session = _session(context)
    schema = schema_from_text(session["schema"], session["hash"])
    everything = Limits(
        max_in_degree=schema.n,
        max_edges=schema.n**2,
        max_dags=10**9,
        max_bytes=2**62,
    )
    arrays = arrays_in(context.state[STRUCTURES], FORM, max_bytes=everything.max_bytes)
    kept = from_arrays(arrays, schema, limits=everything)
    key, own = Key(_bytes(session["private"])), json.loads(str(session["own"]))
    site = begin(kept.dags, kept.weights, key, own)
    if "terms" not in session:
        return site
    joined = join(site, Terms.from_text(str(session["terms"])))
    return replace(joined, asked=Asked.from_text(str(session["asked"])))


def _session(context: Context) -> ConfigRecord:
    record = context.state[SESSION]
    assert isinstance(record, ConfigRecord)
    return record


def _bytes(value: object) -> bytes:
    if not isinstance(value, bytes):
        raise MessageError("a kept key must be bytes")
    return value
