"""A site's part in secure sums and in cut points under masks (`fedbn.secure.cut_sums`): what it
keeps in Flower's context of the run, and what leaves.

    key of a run     make a key and keep it here, for secure sums with the learned structures; the
                     public key leaves, signed where the site has an identity
    sum              look at the company (first request), answer, mask; write the company down
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from flwr.app import ConfigRecord

from clients.agreed_tables import (
    exact_table,
    table_of_all_products,
    table_of_masked_families,
    table_of_numbers,
)
from clients.read_requests import SumQuestion, arrays_in, record_of, run_of, sum_of
from clients.request import Request
from fedbn.arrays import Ints, Masked
from fedbn.errors import ConfigError, MessageError, PolicyError
from fedbn.federation.message import STRUCTURES as FORM
from fedbn.federation.message import StructureMessage, from_arrays, to_arrays
from fedbn.federation.reply_limits import Limits
from fedbn.federation.schema_text import schema_from_text, schema_to_text
from fedbn.networks.family_counts import FamilyTables, count_own_families
from fedbn.secure import cut_sums
from fedbn.secure.blocks import Answering
from fedbn.secure.family_sums import families_within, own_counts
from fedbn.secure.masks import Key, hide, mask, pair_keys, request_digest
from fedbn.secure.past_cohorts import enter_cohort, read_cohorts
from fedbn.secure.question_order import NOTHING_ASKED, Asked
from fedbn.secure.requests import (
    CountRequest,
    EquationRequest,
    ForParameters,
    LevelRequest,
    PlaceRequest,
    TableRequest,
)
from fedbn.secure.scatter_sums import LevelError, TableSums, own_sums
from fedbn.secure.session import CUT_POINTS, Terms, require_cohort, signed_key
from fedbn.secure.site import Site, begin, join, reply
from fedbn.secure.summed_families import (
    own_equations,
    own_place,
    own_residuals,
    part_of_columns,
    wanted_families,
)

LOG = logging.getLogger("fedbn.client")

SUMS, CUTS, STRUCTURES = "sums-session", "cuts-session", "sums-structures"
"""The records of the context."""


def has_begun(request: Request, name: str = SUMS) -> bool:
    """Whether this site has its key of the run already: the request for it is a repeated one."""
    session = _session(request, name)
    return session is not None and session["run"] == run_of(request.message)


def begin_sums(request: Request, structures: StructureMessage) -> None:
    """Keep the structures, over the columns of the sums, and a new key, for a run."""
    schema = request.task.summed
    if schema != request.task.schema and not set(request.names) <= set(schema.names):
        raise PolicyError("query", "the sums are to be without a column of this site")
    dags = tuple(dag.restrict(schema.names) for dag in structures.dags)
    over = replace(structures, schema_hash=schema.hash, names=schema.names, dags=dags)
    request.context.state[STRUCTURES] = record_of(to_arrays(over))
    own = json.dumps(list(request.names) if request.run.variables == "union" else [])
    told = {"schema": schema_to_text(schema), "hash": schema.hash, "own": own}
    _begin(request, SUMS, **told, basis=_basis(request))


def _basis(request: Request) -> str:
    """What decides, besides a question, what this site's table adds to a sum."""
    rows = "" if request.contract is None else request.contract.digest
    return json.dumps([rows, request.run.learner.ess])


def own_key(request: Request, name: str = SUMS) -> ConfigRecord:
    """The public key of the run with the site's name, where it has one, and its signature."""
    rules, session = request.site, _asked_session(request, name)
    key = _key_of(session)
    record = ConfigRecord({"public": key.public})
    if rules.name is not None:
        record["name"] = rules.name
    if rules.identity_key is not None:
        try:
            identity = rules.identity_key.read_bytes()
        except OSError as error:
            raise ConfigError(f"cannot read {rules.identity_key}: {error.strerror}") from None
        record["signature"] = signed_key(identity, str(session["run"]), str(rules.name), key.public)
    return record


def cut_key(request: Request) -> ConfigRecord:
    """A public key for the sums of cut points; the same again where it is asked for again."""
    if not has_begun(request, CUTS):
        _begin(request, CUTS)
    return own_key(request, CUTS)


def masked_answer(request: Request) -> Masked:
    """The masked vector for a request; the site remembers that it was asked. Raises PolicyError
    where the company is not wanted, the protocol does not ask this now, or counts may not leave."""
    session, question = _asked_session(request, SUMS), sum_of(request.message)
    terms = _terms(request, session, question)
    site = _site(request, session, terms)
    masked, site = reply(site, question.data, lambda asked: _sum_table(asked, request, session))
    _keep(request, SUMS, session, terms, site.asked.to_text())
    return masked


def masked_cuts(request: Request) -> Masked:
    """The same of a request for cut points, where the site's rules for histograms let this be asked
    now."""
    session, question = _asked_session(request, CUTS), sum_of(request.message)
    terms = _terms(request, session, question)
    asked, after = cut_sums.allow(question.data, cut_sums.ASKED.decode(session["asked"]), terms)
    if isinstance(asked, cut_sums.SizeRequest):
        values = cut_sums.own_sizes(asked, request.numbers())
    else:
        told = request.histogram(asked.question, asked.most)
        values = cut_sums.own_counts(asked.question, told)
    pairs = pair_keys(_key_of(session), terms.roster, terms.session)
    _require_same(session, question.data, values)
    word = cut_sums.word_of_cuts(asked, len(terms.members))
    masked = mask(values, pairs, request_digest(question.data), word)
    _keep(request, CUTS, session, terms, cut_sums.ASKED.encode(after))
    return masked


def _terms(request: Request, session: ConfigRecord, question: SumQuestion) -> Terms:
    """The terms that were told with this request or an earlier one. Raises PolicyError, before
    anything is counted, for those of another run, and for company that this site's rules or its
    past do not want."""
    if "terms" in session:
        return Terms.from_text(str(session["terms"]))
    terms, rules = question.terms, request.site
    if terms is None:
        raise PolicyError("query", "a sum was asked for before the terms")
    of_cuts = "hash" not in session
    fit = terms.aggregation == CUT_POINTS if of_cuts else terms.schema == session["hash"]
    if terms.run != session["run"] or not fit:
        raise PolicyError("query", "the terms are those of another run")
    earlier = () if rules.cohorts is None else read_cohorts(rules.cohorts)
    require_cohort(
        terms,
        _key_of(session).public,
        min_cohort=rules.policy.min_cohort,
        peers=rules.peers,
        earlier=[cohort for _, cohort in earlier],
    )
    nothing = cut_sums.ASKED.encode(cut_sums.NOTHING_ASKED) if of_cuts else NOTHING_ASKED.to_text()
    session["terms"], session["asked"] = terms.to_text(), nothing
    return terms


def _keep(request: Request, name: str, session: ConfigRecord, terms: Terms, asked: str) -> None:
    """Remember what was asked. Of a first answer the company is written down, or refused by the
    site's past: the last thing before the answer leaves, so that a refused request binds this site
    to nobody."""
    rules, before = request.site, _asked_session(request, name)
    if "terms" not in before and rules.cohorts is not None:
        limit, public = rules.policy.min_cohort, _key_of(session).public
        enter_cohort(rules.cohorts, terms, public, min_cohort=limit, peers=rules.peers)
    session["asked"] = asked
    request.context.state[name] = session


def _sum_table(asked: TableRequest, request: Request, session: ConfigRecord) -> Ints:
    """What this site's table adds to a sum, where the policy allows it.

    Raises PolicyError, too, where the answer would be of other rows, or of another equivalent
    sample size, than earlier ones of the run: a request that is repeated has the same mask, so two
    answers to it would show by how much they differ.
    """
    schema = schema_from_text(session["schema"], session["hash"])
    if session["basis"] != _basis(request):
        raise PolicyError("query", "the table, or the run's ess, is no more that of the run's key")
    request.require_public()
    request.require_offers()
    request.require_contract()
    request.require_schema(schema)
    request.site.policy.require_exact()
    terms = Terms.from_text(str(session["terms"]))
    place = terms.place_of(_key_of(session).public)
    if not isinstance(asked, CountRequest):
        answering = Answering.of(schema, len(terms.members), terms.columns)
        try:
            return _sum_numbers(asked, request, answering, answering.columns[place])
        except LevelError as error:
            LOG.warning("%s: the answer is noise", error)
            digest = request_digest(sum_of(request.message).data)
            return hide(np.ones(error.length, dtype=np.int64), _key_of(session), digest)
    families = asked.families
    if terms.columns:
        families = families_within(families, terms.columns[place])
    table = exact_table(request, schema, families)
    values = own_counts(asked, table, request.run.learner.ess, schema, terms.columns, place)
    if families:
        counts = count_own_families(table, FamilyTables(schema, families))
        if request.site.peers is None:
            request.site.policy.permit_counts(counts, compared=True)
        request.enter_counts(lambda: counts)
    return values


def _sum_numbers(
    asked: TableSums | ForParameters,
    request: Request,
    answering: Answering,
    columns: Sequence[int],
) -> Ints:
    """The same where columns are numbers, of the columns that this site answers for."""
    schema, own = answering.schema, answering.part(columns)
    if not isinstance(asked, ForParameters):
        return own_sums(asked, table_of_all_products(request, schema, own.names), answering)
    if request.run.rounds.parameters != "federated":
        raise PolicyError("query", "these sums are for parameters, and none are wanted")
    if isinstance(asked, LevelRequest | PlaceRequest):
        return own_place(asked, table_of_numbers(request, schema, own.numbers), answering)
    families = asked if isinstance(asked, EquationRequest) else asked.of
    wanted = wanted_families(families, schema)
    part = part_of_columns(wanted, columns)
    table = table_of_masked_families(request, schema, part)
    if isinstance(asked, EquationRequest):
        return own_equations(asked, table, wanted, answering)
    return own_residuals(asked, table, wanted, answering)


def _require_same(session: ConfigRecord, data: bytes, values: Ints) -> None:
    """Remember an answer; raise PolicyError where the same question had another one."""
    asked, told = request_digest(data), request_digest(values.tobytes())
    if session.get("question") == asked and session["answer"] != told:
        raise PolicyError("query", "the same question had another answer")
    session["question"], session["answer"] = asked, told


def _site(request: Request, session: ConfigRecord, terms: Terms) -> Site:
    """The site as the context keeps it, in a run with these terms."""
    schema = schema_from_text(session["schema"], session["hash"])
    everything = Limits(
        max_in_degree=schema.n, max_edges=schema.n**2, max_dags=10**9, max_bytes=2**62
    )
    record = request.context.state[STRUCTURES]
    arrays = arrays_in(record, FORM, max_bytes=everything.max_bytes)
    kept = from_arrays(arrays, schema, limits=everything)
    site = begin(kept.dags, kept.weights, _key_of(session), json.loads(str(session["own"])))
    return replace(join(site, terms), asked=Asked.from_text(str(session["asked"])))


def _begin(request: Request, name: str, **more: str) -> None:
    """Keep a new key for the run of a request."""
    run, key = run_of(request.message), Key.generate()
    request.context.state[name] = ConfigRecord({"run": run, **more, "private": key.private})


def _session(request: Request, name: str) -> ConfigRecord | None:
    """What is kept of a run, as a copy."""
    record = request.context.state.get(name)
    return ConfigRecord(dict(record)) if isinstance(record, ConfigRecord) else None


def _asked_session(request: Request, name: str) -> ConfigRecord:
    """The same, where a key has been asked for."""
    session = _session(request, name)
    if session is None:
        raise PolicyError("query", "a sum was asked for before the key of the run")
    return session


def _key_of(session: ConfigRecord) -> Key:
    private = session["private"]
    if not isinstance(private, bytes):
        raise MessageError("a kept key must be bytes")
    return Key(private)
