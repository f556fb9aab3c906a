"""What a site lets itself be asked, with whom it takes part, and what a server sees."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from fedbn.arrays import Masked
from fedbn.errors import ConfigError, MessageError, PolicyError, ResultsError
from fedbn.fusion.weights import UNITS_PER_CLIENT
from fedbn.graphs.dag import DAG
from fedbn.graphs.random import perturb, random_dag
from fedbn.networks.family_counts import Family
from fedbn.secure.guesses_ahead import MAX_CHAIN
from fedbn.secure.masks import Key, unmasked_sum
from fedbn.secure.past_cohorts import enter_cohort, read_cohorts
from fedbn.secure.path import SecurePath, secure_path
from fedbn.secure.question_order import NOTHING_ASKED, Asked, allow
from fedbn.secure.requests import (
    CountRequest,
    CutRequest,
    Deletion,
    EquationRequest,
    LevelRequest,
    OrderRequest,
    OrderState,
    PlaceRequest,
    ResidualRequest,
    ScatterRequest,
    ScoreRequest,
    SizeRequest,
    SumRequest,
    UnionRequest,
    UnionState,
    VoteRequest,
    from_bytes,
    to_bytes,
)
from fedbn.secure.session import Member, Terms, require_cohort, signed_key
from fedbn.secure.site import Site, begin, join, reply
from simulations.benchmarks.secure_sums import cohort, masked_run

N = 6


def sites(count: int = 4) -> tuple[Site, ...]:
    rng = np.random.default_rng(7)
    base = random_dag([f"v{i}" for i in range(N)], edges=8, rng=rng)
    dags = [perturb(base, 4, rng=rng) for _ in range(count)]
    begun = [begin([dag], [1.0], Key(bytes([i + 1]) * 32)) for i, dag in enumerate(dags)]
    return cohort(begun, units=UNITS_PER_CLIENT)


def recorded(joined: tuple[Site, ...]) -> tuple[SecurePath, list[bytes], list[list[Masked]]]:
    """A run, with all that its server sees."""
    requests, replies = [], []

    def watch(data: bytes, parts: list[Masked]) -> None:
        requests.append(data)
        replies.append(parts)

    names = joined[0].dags[0].names
    search = secure_path(names, len(joined), UNITS_PER_CLIENT, look_ahead=1)
    path, _ = masked_run(search, joined, watch)
    return path, requests, replies


JOINED = sites()
PATH, REQUESTS, REPLIES = recorded(JOINED)
SESSION = JOINED[0].terms.session


def before(kind: type[SumRequest], nth: int = 0) -> tuple[Site, SumRequest, int]:
    """A site before the nth request of a kind, that request and its round."""
    site, seen = JOINED[0], 0
    for number, data in enumerate(REQUESTS, start=1):
        request = from_bytes(data)[0]
        if isinstance(request, kind):
            if seen == nth:
                return site, request, number
            seen += 1
        _, site = reply(site, data)
    raise AssertionError("there is no such request")


def refused(site: Site, request: SumRequest, number: int, session: bytes = SESSION) -> str:
    """The details of the refusal of a request."""
    with pytest.raises(PolicyError) as refusal:
        reply(site, to_bytes(request, session, number))
    assert refusal.value.args[0] == "query"
    return str(refusal.value.args[1])


def test_the_server_s_transcript_follows_from_the_sums_alone() -> None:
    sums = [unmasked_sum(parts) for parts in REPLIES]
    search = secure_path(PATH.votes.names, 4, UNITS_PER_CLIENT, look_ahead=1)
    simulated = [next(search)]
    try:
        for vector in sums:
            simulated.append(search.send(vector))
    except StopIteration as end:
        path = end.value
    as_bytes = [to_bytes(request, SESSION, i) for i, request in enumerate(simulated, start=1)]
    assert as_bytes == REQUESTS
    assert pickle.dumps(path) == pickle.dumps(PATH)


def test_with_other_keys_every_integer_that_leaves_is_another() -> None:
    fresh = cohort([begin(site.dags, [1.0]) for site in JOINED], units=UNITS_PER_CLIENT)
    path, _, replies = recorded(fresh)
    for mine, yours in zip(REPLIES, replies, strict=True):
        assert all((a != b).all() for a, b in zip(mine, yours, strict=True))
    assert pickle.dumps(path) == pickle.dumps(PATH)


def test_the_same_request_is_answered_with_the_same_bytes() -> None:
    site = JOINED[1]
    for data, parts in zip(REQUESTS, REPLIES, strict=True):
        masked, site = reply(site, data)
        again, after = reply(site, data)
        assert masked.tobytes() == again.tobytes() == parts[1].tobytes()
        assert after == site


def test_a_site_remembers_as_text() -> None:
    site = JOINED[0]
    for data in REQUESTS:
        kept = replace(site, asked=Asked.from_text(site.asked.to_text()))
        assert kept == site
        _, site = reply(kept, data)


def test_one_changed_bit_of_a_request_is_refused_or_noise() -> None:
    site, _, number = before(CutRequest, 1)
    data = bytearray(REQUESTS[number - 1])
    rng = np.random.default_rng(0)
    for place in rng.integers(len(data), size=200):
        changed = bytearray(data)
        changed[place] ^= 1 << int(rng.integers(8))
        assert answer_request(site, bytes(changed)) & set(REPLIES[number - 1][0].tolist()) == set()


def answer_request(site: Site, data: bytes) -> set[int]:
    """The integers that a site answers with; none where it refuses the request."""
    try:
        return set(reply(site, data)[0].tolist())
    except PolicyError as error:
        return {0} if error.args[0] != "query" else set()


def test_an_order_cannot_go_back_or_elsewhere() -> None:
    site, request, number = before(OrderRequest, 1)
    (state,) = request.states
    for states, words in [
        ((replace(state, taken=state.taken[1:]),), "must go on"),
        ((replace(state, taken=()),), "must go on"),
        ((replace(state, taken=(*state.taken, state.taken[0]), chain=()),), "no sinks"),
        ((replace(state, taken=(*state.taken, N), chain=()),), "no sinks"),
        ((replace(state, path=1),), "not begun"),
        ((state, state), "twice"),
    ]:
        assert words in refused(site, replace(request, states=states), number)
    deeper = replace(request, paths=((Deletion(0, 1, ()),),))
    assert "deletions were changed" in refused(site, deeper, number)
    assert "round" in refused(site, request, number + 1)
    assert "another run" in refused(site, request, number, session=bytes(32))
    other = replace(request, states=(replace(state, chain=()),))
    _, after = reply(site, REQUESTS[number - 1])
    assert "round" in refused(after, other, number)


def test_a_union_is_of_the_order_that_was_found() -> None:
    site, request, number = before(UnionRequest)
    (state,) = request.states
    for order in (state.order[::-1], state.order[1:], (*state.order[:-1], N)):
        states = (replace(state, order=order),)
        assert "order" in refused(site, replace(request, states=states), number)
    assert "all orders" in refused(site, replace(request, states=()), number)


def test_cuts_are_those_of_valid_operators_only() -> None:
    site, request, number = before(CutRequest, 1)
    first, second = request.paths

    def with_first(**changes: object) -> CutRequest:
        return replace(request, paths=(replace(first, **changes), second))

    done = first.deletions
    other = done[-1]._replace(given=tuple(sorted({*range(N)} - {done[-1].x, done[-1].y})))
    unknown = Deletion(*((0, 1) if (done[0].x, done[0].y) != (0, 1) else (0, 2)), (3, 4, 5))
    for changed in (
        with_first(deletions=(*done[:-1], other), chain=()),
        with_first(deletions=(*done, unknown), chain=()),
        with_first(chain=(unknown,)),
    ):
        assert refused(site, changed, number)
    assert "chain" in refused(site, with_first(chain=done * 17), number)
    assert "go on" in refused(site, with_first(deletions=(), chain=()), number)
    assert "poolings" in refused(site, with_first(clip=True), number)
    assert "k-max" in refused(site, replace(request, k_max=9), number)
    assert "union" in refused(site, replace(request, union=request.union[1:]), number)


def test_orders_and_unions_of_pruned_inputs_go_on_where_the_cuts_were() -> None:
    """Other deletions than those of the cuts would ask for inputs that the path never had."""
    site, request, number = _before_pruned(OrderRequest)
    path = request.paths[0]
    turned = path[0]._replace(x=path[0].y, y=path[0].x)
    shorter, longer = path[:-1], (*path, path[-1])
    for changed in ((turned, *path[1:]), path[::-1], longer):
        asked = replace(request, paths=(changed, *request.paths[1:]))
        assert refused(site, asked, number)
    assert "other paths" in refused(site, replace(request, paths=request.paths[:1]), number)
    later, union, at = _before_pruned(UnionRequest)
    for changed in ((turned, *path[1:]), path[::-1], shorter, ()):
        asked = replace(union, paths=(changed, *union.paths[1:]))
        assert "deletions were changed" in refused(later, asked, at)
    assert "all orders" in refused(later, replace(union, states=union.states[1:]), at)
    assert "all orders" in refused(later, replace(union, states=union.states[:1] * 2), at)
    assert "out of turn" in refused(reply(later, REQUESTS[at - 1])[1], union, at + 1)


def _before_pruned(kind: type[SumRequest]) -> tuple[Site, SumRequest, int]:
    """A site before the first request of a kind about pruned inputs."""
    for nth in range(len(REQUESTS)):
        site, request, number = before(kind, nth)
        if any(request.paths) and request.states:
            return site, request, number
    raise AssertionError("there is no such request")


def test_votes_are_asked_once_at_the_end_and_about_moral_pairs() -> None:
    site, request, number = before(VoteRequest)
    assert "pairs" in refused(site, replace(request, union=None), number)
    assert "classes" in refused(site, replace(request, classes=False), number)
    assert "union" in refused(site, replace(request, union=request.union[1:]), number)
    _, after = reply(site, REQUESTS[-1])
    assert "out of turn" in refused(after, request, number + 1)
    early, _, at = before(UnionRequest)
    assert "out of turn" in refused(early, request, at)


def test_moral_votes_are_all_that_such_a_run_may_ask() -> None:
    (site, *_) = cohort([begin(site.dags, [1.0]) for site in JOINED], aggregation="moral-votes")
    session = site.terms.session
    order = OrderRequest(((),), (OrderState(0, 0, (), ()),))
    assert "only votes" in refused(site, order, 1, session)
    assert "only moral" in refused(site, VoteRequest(None, True), 1, session)
    masked, _ = reply(site, to_bytes(VoteRequest(None, False), session, 1))
    assert masked.shape == (N * (N - 1) // 2,)


def test_requests_in_another_form_are_no_requests() -> None:
    content = json.loads(REQUESTS[0])
    for text in (
        json.dumps(content),
        "{}",
        "[",
        "\xff",
        json.dumps(content | {"kind": "dags"}, separators=(",", ":"), sort_keys=True),
        json.dumps(content | {"round": -1}, separators=(",", ":"), sort_keys=True),
    ):
        with pytest.raises(MessageError):
            from_bytes(text.encode("latin-1"))


# --- company ------------------------------------------------------------------------------------


def identity(seed: int) -> tuple[bytes, str]:
    """An Ed25519 key pair as OpenSSH writes it."""
    key = Ed25519PrivateKey.from_private_bytes(bytes([seed]) * 32)
    private = key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    return private, public.decode()


IDENTITIES = {name: identity(i) for i, name in enumerate(("east", "north", "south"))}
KEYS = {name: Key(bytes([i + 1]) * 32) for i, name in enumerate(IDENTITIES)}
PEERS = {name: IDENTITIES[name][1] for name in ("north", "south")}


def terms(names: tuple[str, ...] = ("east", "north", "south"), run: str = "7") -> Terms:
    members = tuple(
        Member(
            name,
            KEYS[name].public.hex(),
            signed_key(IDENTITIES[name][0], run, name, KEYS[name].public).hex(),
        )
        if name in KEYS
        else Member(name, Key.generate().public.hex())
        for name in sorted(names)
    )
    return replace(JOINED[0].terms, run=run, members=members)


def refusal(told: Terms, **rules: object) -> str | None:
    given = {"min_cohort": 3, "peers": PEERS, **rules}
    try:
        require_cohort(told, KEYS["east"].public, **given)
    except PolicyError as error:
        return str(error.args[0])
    return None


def test_a_signed_roster() -> None:
    assert refusal(terms()) is None
    assert refusal(terms(), min_cohort=4) == "min-cohort"
    assert refusal(terms(("east", "north", "west"))) == "cohort"
    assert refusal(terms(("east", "north", "south", "west"))) == "cohort"
    assert refusal(terms(("north", "south", "west"))) == "cohort"  # this site is not in it
    assert refusal(terms(("east", "north", "south", "west")), peers=None) is None
    of_another_run = replace(terms(), run="8")
    assert refusal(of_another_run) == "cohort"
    replaced = tuple(
        replace(m, public=Key.generate().public.hex()) if m.name == "north" else m
        for m in terms().members
    )
    assert refusal(replace(terms(), members=replaced)) == "cohort"
    with pytest.raises(ConfigError, match="Ed25519"):
        refusal(terms(), peers={"north": "ssh-ed25519 x", "south": PEERS["south"]})
    with pytest.raises(ConfigError, match="Ed25519"):
        signed_key(b"no key", "7", "east", bytes(32))


def test_cohorts_that_differ_by_few_are_refused_for_ever(tmp_path: Path) -> None:
    file = tmp_path / "east.csv.cohorts.jsonl"

    def enter(names: str, run: str) -> str | None:
        told = terms(("east", *names), run)
        try:
            enter_cohort(file, told, KEYS["east"].public, min_cohort=3, peers=None)
        except PolicyError as error:
            return str(error.args[0])
        return None

    assert enter("abc", "1") is None
    assert enter("abc", "1") is None  # asked again
    assert enter("abc", "2") is None  # the same company, another run
    assert enter("ab", "3") == "cohort-changed"
    assert enter("abcd", "3") == "cohort-changed"
    assert enter("abd", "3") == "cohort-changed"
    assert enter("abcdef", "3") is None  # three more
    assert enter("a", "4") == "min-cohort"
    assert [run for run, _ in read_cohorts(file)] == ["1", "2", "3"]
    file.write_bytes(file.read_bytes()[:-5])
    with pytest.raises(ResultsError, match="line 3"):
        enter("abc", "5")


def test_terms_are_read_as_they_were_told() -> None:
    told = terms()
    assert Terms.from_text(told.to_text()) == told
    assert told.session != replace(told, k_max=9).session
    content = json.loads(told.to_text())
    reordered = json.dumps(content | {"members": content["members"][::-1]})
    for text in ("{}", reordered, told.to_text() + " ", told.to_text().replace("ums", "um")):
        with pytest.raises(MessageError):
            Terms.from_text(text)


def test_a_site_joins_once_and_with_its_own_weights() -> None:
    site = begin([DAG.from_edges("ab", ["ab"]), DAG.empty("ab")], [1.0, 1e-9])
    assert site.weights == (UNITS_PER_CLIENT,)
    with pytest.raises(PolicyError):
        reply(site, REQUESTS[0])
    with pytest.raises(MessageError, match="sum to"):
        join(site, replace(terms(), units=2))
    joined = join(site, terms())
    with pytest.raises(PolicyError):
        join(joined, terms(run="8"))


def disallowed(request: SumRequest, before: Asked, n: int = N, **terms: object) -> str:
    """Why a site that was asked something before lets itself not be asked this."""
    agreed = replace(JOINED[0].terms, **terms)
    data = to_bytes(request, agreed.session, before.number + 1)
    with pytest.raises(PolicyError) as refusal:
        allow(data, before, agreed, n)
    return str(refusal.value.args[1])


def test_an_order_begins_at_its_turn_and_at_the_beginning() -> None:
    site, request, number = _before_pruned(OrderRequest)
    state, *others = request.states
    begun = replace(state, taken=(0,), chain=())
    assert "must begin" in refused(site, replace(request, states=(begun, *others)), number)
    assert "must begin" in refused(site, replace(request, states=(state, *request.states)), number)
    for beyond in (
        replace(state, deletions=len(request.paths[state.path]) + 1, taken=()),
        replace(state, path=len(request.paths), taken=()),
        replace(state, deletions=0, taken=()),
    ):
        asked = replace(request, states=(beyond,))
        assert "no such state" in refused(site, asked, number)
    assert site.asked.cuts is not None
    fewer = site.asked.cuts.paths[0].deletions[:-1]
    asked = replace(request, paths=(fewer, *request.paths[1:]), states=())
    assert "the deletions were changed" in refused(site, asked, number)
    votes, _, at = before(VoteRequest)
    assert "an order is asked for out of turn" in refused(votes, request, at)
    _, after = reply(votes, REQUESTS[at - 1])
    assert "an order is asked for out of turn" in refused(after, request, at + 1)


def test_nothing_is_deleted_before_the_cuts() -> None:
    state, deleted = OrderState(0, 0, (), ()), ((Deletion(0, 1, ()),),)
    assert "nothing was deleted yet" in disallowed(OrderRequest(deleted, (state,)), NOTHING_ASKED)
    alone = UnionRequest(deleted, (UnionState(0, 0, (0,)),))
    assert "nothing was deleted yet" in disallowed(alone, NOTHING_ASKED, n=1)
    site, request, number = before(CutRequest)
    first, second = request.paths
    begun = replace(first, deletions=(Deletion(0, 1, ()),), chain=())
    assert "nothing was deleted yet" in refused(
        site, replace(request, paths=(begun, second)), number
    )


def test_cuts_are_of_nodes_that_there_are_and_for_something() -> None:
    site, request, number = before(CutRequest, 1)
    first, second = request.paths
    silent = tuple(replace(path, asked=False) for path in request.paths)
    assert "nothing is asked" in refused(site, replace(request, paths=silent), number)
    for unknown in (Deletion(0, N, ()), Deletion(0, 1, (N,))):
        paths = (replace(first, chain=(unknown,)), second)
        assert "no such node" in refused(site, replace(request, paths=paths), number)


def test_cuts_have_their_turn() -> None:
    early, _, number = before(OrderRequest)
    _, request, _ = before(CutRequest)
    assert "cuts are asked for out of turn" in refused(early, request, number)
    votes, _, at = before(VoteRequest)
    assert "cuts are asked for out of turn" in refused(votes, request, at)


def test_guesses_are_few() -> None:
    many = OrderState(0, 0, (), tuple(range(MAX_CHAIN + 1)))
    assert "chain" in disallowed(OrderRequest(((),), (many,)), NOTHING_ASKED, n=40)
    allowed = replace(many, chain=many.chain[:-1])
    terms = JOINED[0].terms
    data = to_bytes(OrderRequest(((),), (allowed,)), terms.session, 1)
    assert allow(data, NOTHING_ASKED, terms, 40)[1].phase == 0


def test_counts_are_of_something_after_the_votes_and_as_often_as_was_agreed() -> None:
    votes = replace(NOTHING_ASKED, phase=5, number=9)
    one = CountRequest((Family(0, ()),), own=True)
    assert "nothing is asked" in disallowed(CountRequest((), own=True), votes, counts=1)
    assert "0 requests for counts" in disallowed(one, votes)
    assert "2 requests for counts" in disallowed(one, replace(votes, counts=2), counts=2)
    assert "out of turn" in disallowed(one, replace(votes, phase=4), counts=2)


def test_levels_sums_of_products_and_scores_come_in_this_order_the_first_two_once() -> None:
    votes = replace(NOTHING_ASKED, phase=5, number=9)
    scores = ScoreRequest((Family(0, ()),))
    steps = [SizeRequest(), ScatterRequest((1,) * N), scores]
    for place, before in enumerate((0, 1, 2)):
        for asked_place, request in enumerate(steps):
            state = replace(votes, products=before)
            if place != asked_place:
                assert "out of turn" in disallowed(request, state, counts=3)
    assert "nothing is asked" in disallowed(ScoreRequest(()), replace(votes, products=2), counts=3)
    terms = replace(JOINED[0].terms, counts=4)
    state = votes
    for number, request in enumerate([*steps, scores], start=10):
        data = to_bytes(request, terms.session, number)
        _, state = allow(data, state, terms, N)
        assert Asked.from_text(state.to_text()) == state
    assert (state.products, state.counts) == (2, 4)


def test_sums_for_parameters_are_asked_once_in_their_order_and_of_one_dag() -> None:
    votes = replace(NOTHING_ASKED, phase=5, number=9)
    families = EquationRequest(tuple(Family(v, ()) for v in range(N)), (0.5,) * N, (1,) * (N + 1))
    steps: list[Any] = [LevelRequest(), PlaceRequest((1,) * (N + 1)), families]
    steps.append(ResidualRequest(families, ((0.25,),) * N, (1,) * N))
    for before in range(5):
        for place, request in enumerate(steps):
            if place != before:
                state = replace(votes, parameters=before, products=place)
                assert "out of turn" in disallowed(request, state, counts=4)
    terms, state = replace(JOINED[0].terms, counts=4), votes
    for number, request in enumerate(steps, start=10):
        _, state = allow(to_bytes(request, terms.session, number), state, terms, N)
        assert Asked.from_text(state.to_text()) == state
    assert (state.products, state.parameters, state.counts) == (0, 4, 4)
    other = replace(steps[-1], of=replace(families, centres=(0.75,) * N))
    asked = replace(votes, parameters=3, equations=families)
    assert "residuals are of other families" in disallowed(other, asked, counts=4)
