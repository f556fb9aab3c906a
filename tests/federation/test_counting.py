"""The dialogue of choosing by counts, without a network between its two sides."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from fedbn.choice.by_counts import family_rule
from fedbn.choice.candidates import CandidateLimits, Candidates, cells_of
from fedbn.choice.prior import FREE, EdgePrior
from fedbn.federation import counting
from fedbn.federation.choice_record import choice_facts, choice_from_dict, choice_to_dict
from fedbn.federation.counting import Counting, open_counting
from fedbn.federation.family_message import FamilyAnswer, FamilyRequest, answer_request
from fedbn.federation.run_remarks import run_remarks
from fedbn.federation.settings import ConsensusSettings
from fedbn.federation.state import FederationResult
from fedbn.graphs.distances import mean_smhd, smhd
from fedbn.graphs.knowledge import Knowledge
from fedbn.networks.catalog import load_network
from fedbn.networks.family_counts import families_of
from fedbn.scores import make_score, total_score
from fedbn.search.ges import ges
from tests import naive_choice_by_counts as naive
from tests.choice.cases import Federation, federation
from tests.work import clock_that_counts

Sites = Callable[[FamilyRequest, int], Mapping[str, FamilyAnswer]]


@pytest.fixture(scope="module")
def asia() -> Federation:
    return federation("asia", sites=4, rows=300, seed=2)


def answers(case: Federation, wanted: FamilyRequest) -> dict[str, FamilyAnswer]:
    return {site: answer_request(wanted, table, 1.0) for site, table in case.tables.items()}


def begin(
    result: FederationResult, choose: str, rounds: int, seconds: float | None = None
) -> Counting:
    rule = ConsensusSettings(choose=choose, count_rounds=rounds, seconds=seconds)
    return open_counting(result, rule, ess=1.0, seed=1)


def dialogue(
    case: Federation,
    choose: str,
    rounds: int = 10,
    sites: Sites | None = None,
    seconds: float | None = None,
):
    state = begin(case.result, choose, rounds, seconds)
    number = 0
    while (wanted := state.request()) is not None:
        given = answers(case, wanted) if sites is None else sites(wanted, number)
        state = state.hear(given)
        number += 1
    return state, number


def test_counts_ask_once_and_climb_asks_on(asia: Federation) -> None:
    once, requests = dialogue(asia, "counts")
    assert requests == 1
    further, requests = dialogue(asia, "climb", rounds=3)
    assert 2 <= requests <= 4
    assert further.climb.value >= once.climb.value
    none, requests = dialogue(asia, "climb", rounds=0)
    assert requests == 1
    assert none.climb.dag == once.climb.dag


def test_families_of_what_sites_sent_are_asked_for(asia: Federation) -> None:
    opened = begin(asia.result, "counts", 0)
    wanted = opened.request()
    assert wanted is not None
    sent = families_of(dag for reply in asia.replies for dag in reply.dags)
    on_paths = families_of(candidate.dag for candidate in opened.candidates.listed)
    assert set(sent) <= set(wanted.tables.families)
    assert not set(sent) <= set(on_paths)


def without_further(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("sent_families", "voted_families"):
        monkeypatch.setattr(counting, name, lambda _: [])


def test_of_further_families_those_that_keep_the_knowledge_are_asked_for(
    asia: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = Knowledge(required=(("asia", "tub"),), forbidden=(("smoke", "bronc"),))
    result = replace(asia.result, path=replace(asia.result.path, knowledge=known))
    asked = begin(result, "counts", 0).candidates.families
    without_further(monkeypatch)
    of_candidates = begin(result, "counts", 0).candidates.families
    further = {*asked} - {*of_candidates}
    assert further
    assert all(map(family_rule(known, result.schema.names), further))


def test_further_families_take_no_room_of_those_with_a_site_column(
    asia: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = replace(asia.result, divided=("asia",))
    rule = ConsensusSettings(choose="counts", site_column="asia")

    def asked(cells: int) -> Candidates:
        limits = CandidateLimits(cells=cells)
        monkeypatch.setattr(counting, "CandidateLimits", lambda: limits)
        return open_counting(result, rule, ess=1.0, seed=1).candidates

    wide = asked(10**6)
    with monkeypatch.context() as plainly:
        without_further(plainly)
        plain = asked(10**6)
    room = sum(cells_of(result.schema, family) for family in plain.families)
    assert (asked(room).families, asked(room).left_out) == (plain.families, ())
    assert {*plain.families} < {*wide.families}
    assert len(wide.families) <= 2 * len(plain.families)


def test_the_result_has_the_choice_and_its_distance_to_the_inputs(asia: Federation) -> None:
    state, _ = dialogue(asia, "climb")
    result = state.conclude(asia.result)
    assert result.consensus.dag == result.choice.dag
    assert result.consensus.reading == "counts"
    inputs = result.path.inputs
    assert result.consensus.mean_smhd == mean_smhd(result.choice.dag, inputs.dags, inputs.weights)
    assert result.consensus.gap == result.consensus.mean_smhd - result.consensus.lower_bound
    assert result.row_weight in {fused.row_weight for fused in asia.result.classes}
    assert {r for reply in result.fused_replies for r in reply.row_weights} == {result.row_weight}
    tables = list(asia.tables.values())
    assert result.choice.score == pytest.approx(
        naive.total(tables, asia.pooled, result.choice.dag, 1.0), abs=1e-4
    )


@pytest.mark.parametrize(
    ("rows", "named"),
    [((901, 100, 700, 101), False), ((902, 100, 700, 101), True), ((902, 100), False)],
)
def test_a_site_with_most_of_the_counted_rows_is_named(
    asia: Federation, rows: tuple[int, ...], named: bool
) -> None:
    """By the rows that it counted, whatever it tells of its table."""
    state, _ = dialogue(asia, "counts")
    whole = state.conclude(asia.result)
    assert whole.choice.rows == dict.fromkeys(asia.tables, 300)
    counted = {f"site {k}": own for k, own in enumerate(rows)}
    replies = tuple(replace(reply, rows=None) for reply in whole.replies)
    result = replace(whole, replies=replies, choice=replace(whole.choice, rows=counted))
    said = [words for words in run_remarks(result) if "rows that were counted" in words]
    assert bool(said) == named
    assert all("site 0 has 902 of the 1,803 rows" in words for words in said)
    assert not any("rows that" in words for words in run_remarks(replace(result, choice=None)))


@pytest.mark.parametrize(
    ("rows", "named"),
    [
        ([300] * 3 + [100] * 7, "site 0, site 1, site 2 have 900 of the 1,600 rows"),
        ([300, 500] + [100] * 7, "site 1, site 0 have 800 of the 1,500 rows"),
        ([300] * 3 + [100] * 6, None),  # of nine sites three are no fewer than a third
        ([300] * 3 + [900 // 7 + 1] * 7, None),  # 900 of 1,803
        ([100] * 10, None),
    ],
)
def test_few_sites_with_more_rows_than_all_others_are_named(
    asia: Federation, rows: list[int], named: str | None
) -> None:
    whole = dialogue(asia, "counts")[0].conclude(asia.result)
    assert whole.choice is not None
    counted = {f"site {k}": own for k, own in enumerate(rows)}
    result = replace(whole, choice=replace(whole.choice, rows=counted))
    said = [words for words in run_remarks(result) if "rows that were counted" in words]
    assert [words[: len(named or "")] for words in said] == ([named] if named else [])


def test_no_order_of_sites_matters(asia: Federation) -> None:
    def shuffled(wanted: FamilyRequest, number: int) -> dict[str, FamilyAnswer]:
        given = list(answers(asia, wanted).items())
        random.Random(number).shuffle(given)
        return dict(given)

    first = choice_to_dict(dialogue(asia, "climb")[0].conclude(asia.result).choice)
    second = choice_to_dict(dialogue(asia, "climb", sites=shuffled)[0].conclude(asia.result).choice)
    assert first == second


def test_a_site_that_answers_no_more_ends_the_climb(asia: Federation) -> None:
    def leaving(wanted: FamilyRequest, number: int) -> dict[str, FamilyAnswer]:
        given = answers(asia, wanted)
        if number > 0:
            del given["site 0"]
        return given

    state, requests = dialogue(asia, "climb", sites=leaving)
    assert requests == 2
    assert state.ended
    assert state.conclude(asia.result).choice.sites == tuple(asia.tables)
    assert state.conclude(asia.result).choice.dag == dialogue(asia, "counts")[0].climb.dag


def test_a_site_that_never_answers_is_left_out_of_the_sums(asia: Federation) -> None:
    def without(wanted: FamilyRequest, number: int) -> dict[str, FamilyAnswer]:
        given = answers(asia, wanted)
        del given["site 3"]
        return given

    choice = dialogue(asia, "climb", sites=without)[0].conclude(asia.result).choice
    assert choice.sites == ("site 0", "site 1", "site 2")
    assert choice.counts.rows == 900


def test_without_an_answer_the_structures_choose(asia: Federation) -> None:
    state: Counting = begin(asia.result, "counts", 0)
    assert state.conclude(asia.result) is asia.result


def test_the_record_of_a_choice_is_exact(asia: Federation) -> None:
    choice = dialogue(asia, "climb")[0].conclude(asia.result).choice
    again = choice_from_dict(choice_to_dict(choice), asia.result.schema)
    assert choice_to_dict(again) == choice_to_dict(choice)
    assert again.dag == choice.dag
    assert again.counts == choice.counts
    assert again.mechanisms == choice.mechanisms


def test_an_edge_must_gain_what_it_costs(asia: Federation) -> None:
    """Where edges are dear none is chosen; what is reported is BDeu alone, whatever they cost."""
    state = begin(asia.result, "climb", 3)
    assert state.prior == EdgePrior.over(8)
    state = replace(state, prior=EdgePrior(10**300))
    while (wanted := state.request()) is not None:
        state = state.hear(answers(asia, wanted))
    choice = state.conclude(asia.result).choice
    assert choice.dag.n_edges == 0
    tables = list(asia.tables.values())
    assert choice.score == pytest.approx(
        naive.total(tables, asia.pooled, choice.dag, 1.0), abs=1e-4
    )


def test_where_no_time_is_left_the_best_candidate_is_chosen_and_the_run_says_so(
    asia: Federation,
) -> None:
    """A limit of zero: no search, no further request, and nobody is looked at."""
    for choose in ("counts", "climb"):
        state, requests = dialogue(asia, choose, seconds=0.0)
        assert requests == 1
        assert state.climb.dag == state.climb.candidate.dag
        result = state.conclude(asia.result)
        assert (result.choice.cut_short, result.choice.unguarded) == (True, True)
        said = [words for words in run_remarks(result) if "time limit" in words]
        assert len(said) == 2
        assert "after 1 request:" in said[0]
        told = choice_to_dict(result.choice)
        assert choice_to_dict(choice_from_dict(told, asia.result.schema)) == told
        assert choice_facts(result.choice, asia.result.schema)["cut_short"]
    free, _ = dialogue(asia, "climb")
    assert free.climb.value >= state.climb.value
    assert not any("time limit" in words for words in run_remarks(free.conclude(asia.result)))


@pytest.mark.parametrize("looks", [4.0, 12.0, 24.0, 1e9])
def test_time_that_ends_between_two_requests_ends_the_climb(
    asia: Federation, monkeypatch: pytest.MonkeyPatch, looks: float
) -> None:
    """A clock that goes on where it is looked at: half of the limit is for searches."""
    clock_that_counts(monkeypatch, "fedbn.choice.choosing_time", "fedbn.choice.by_counts")
    state, requests = dialogue(asia, "climb", seconds=looks)
    choice = state.conclude(asia.result).choice
    _, whole = dialogue(asia, "climb")
    assert choice.cut_short == (looks < 1e9)
    assert (requests < whole) == (looks < 1e9)
    assert choice.requests == requests


@pytest.mark.slow
def test_alarm_with_300_rows_gains_no_edges_by_chance() -> None:
    """Among the many families of a climb some win by chance, where an edge costs nothing."""
    case = federation("alarm", sites=3, rows=300, seed=3)
    truth = load_network("alarm").dag
    opened = begin(case.result, "climb", 10)
    reached = []
    for state in (opened, replace(opened, prior=FREE)):
        while (wanted := state.request()) is not None:
            state = state.hear(answers(case, wanted))
        reached.append(smhd(state.climb.dag, truth))
    today = smhd(case.result.classes[0].consensus.dag, truth)
    assert reached[0] < reached[1]
    assert reached[0] <= today


def test_child_with_500_rows_needs_the_climb() -> None:
    """The best candidate closes little of the distance to GES on all rows, the climb most of it,
    and the climb ends above what GES finds there, at the same cost of edges.

    Over all networks: `docs/studies/pooling.md`.
    """
    case = federation("child", sites=5, rows=500, seed=3)
    truth = load_network("child").dag
    score = make_score("bdeu", case.pooled)
    whole = ges(score).dag
    today, pooled = (smhd(dag, truth) for dag in (case.result.classes[0].consensus.dag, whole))
    state, requests = dialogue(case, "climb")
    best, reached = (smhd(dag, truth) for dag in (state.climb.candidate.dag, state.climb.dag))
    assert requests <= 11
    assert (today - best) / (today - pooled) < 0.4
    assert (today - reached) / (today - pooled) > 0.85
    cost = EdgePrior.over(truth.n).of(whole.n_edges)
    assert state.climb.value > total_score(score, whole) - cost
