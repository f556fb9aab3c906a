"""Sites whose rows alone would decide what sums over all sites choose."""

from __future__ import annotations

import itertools
import math
import operator
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbn.choice.decisive import Verdict, verdict_on
from fedbn.choice.site_sums import Sums, Worth, contest, most_left_out, pushing
from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema, Variable
from fedbn.federation.choice_record import choice_from_dict, choice_to_dict
from fedbn.federation.counting import Counting, open_counting
from fedbn.federation.family_message import FamilyAnswer, answer_request
from fedbn.federation.rounds import server_round
from fedbn.federation.run_remarks import run_remarks
from fedbn.federation.settings import ConsensusSettings
from fedbn.federation.state import ClientReply, FederationResult, ServerState
from fedbn.federation.summing import choose_by_sums
from fedbn.graphs.dag import DAG
from fedbn.graphs.distances import smhd
from fedbn.graphs.random import perturb
from fedbn.networks.catalog import load_network
from fedbn.scores import make_score
from fedbn.scores.scatter import scatter_of_table
from fedbn.search.ges import ges

NAMES = "abcd"
OTHERS = [DAG.from_edges(NAMES, edges) for edges in (["ac"], ["ac", "bd"])]
CANDIDATES = [
    DAG.from_edges(NAMES, edges) for edges in ([], ["ab"], ["ab", "bc"], ["ab", "bc", "cd"])
]


def followed(dag: DAG, schema: Schema, rows: int, rng: np.random.Generator) -> Dataset:
    """Made-up rows: each variable is what its parents say in 95 % of the rows."""
    codes = np.zeros((rows, schema.n), dtype=np.int32)
    for node in dag.topological_order():
        parents = np.flatnonzero(dag.adjacency[:, node])
        states = int(schema.cardinalities[node])
        chance = rng.integers(0, states, rows)
        said = codes[:, parents] @ rng.integers(1, 7, len(parents)) % states
        follows = (rng.random(rows) < 0.95) & (len(parents) > 0)
        codes[:, node] = np.where(follows, said, chance)
    return Dataset(schema, codes)


def fused(dags: dict[str, DAG], schema: Schema) -> FederationResult:
    replies = [ClientReply(name, (dag,), (1.0,), "complete") for name, dag in dags.items()]
    rule = ConsensusSettings(choose="counts")
    result = server_round(ServerState(schema, len(replies)), replies, (), rule).result
    assert result is not None
    return result


def begin(
    result: FederationResult, choose: str, rounds: int, seconds: float | None = None
) -> Counting:
    rule = ConsensusSettings(choose=choose, count_rounds=rounds, seconds=seconds)
    return open_counting(result, rule, ess=1.0, seed=1)


def heard(result: FederationResult, tables: dict[str, Dataset], choose: str = "counts") -> Counting:
    state = begin(result, choose, 2)
    while (wanted := state.request()) is not None:
        state = state.hear({name: answer_request(wanted, t, 1.0) for name, t in tables.items()})
    return state


def of_all_sums(result: FederationResult, tables: dict[str, Dataset]) -> DAG:
    """What the sums over all sites choose, where nobody is left out."""
    state = begin(result, "counts", 0)
    wanted = state.request()
    assert wanted is not None
    answers = [answer_request(wanted, table, 1.0) for table in tables.values()]
    counts = reduce(operator.add, (answer.counts for answer in answers))
    own = reduce(operator.add, (answer.own for answer in answers))
    found = state.hear_sums({tuple(tables): FamilyAnswer(counts, own)}).climb
    assert found is not None
    return found.dag


@dataclass(frozen=True)
class Federation:
    """Nine honest sites, what they choose by counts, and what hostile ones send and count."""

    tables: dict[str, Dataset]
    dags: dict[str, DAG]
    honest: DAG
    sent: DAG
    made_up: Dataset

    def beside(self, hostile: int) -> tuple[FederationResult, dict[str, Dataset]]:
        """The result of the structures, and the tables, of nine or seven honest sites and the
        hostile ones."""
        kept, sites = list(self.tables)[: 10 - hostile], [f"x{k}" for k in range(hostile)]
        tables = {name: self.tables[name] for name in kept} | dict.fromkeys(sites, self.made_up)
        dags = {name: self.dags[name] for name in kept} | dict.fromkeys(sites, self.sent)
        return fused(dags, self.made_up.schema), tables


def federation(network: str, seed: int) -> Federation:
    source, rng = load_network(network), np.random.default_rng(3)
    tables = {f"n{k}": source.sample(1_000, rng) for k in range(9)}
    dags = {name: ges(make_score("bdeu", table)).dag for name, table in tables.items()}
    result = fused(dags, source.schema)
    state = heard(result, tables)
    assert state.unheard == ()
    assert state.climb is not None
    near = result.consensus.dag
    sent = perturb(near, 4, rng=np.random.default_rng(seed)).reorder(near.names)
    made_up = followed(sent, source.schema, 1_000, np.random.default_rng(seed))
    return Federation(tables, dags, state.climb.dag, sent, made_up)


@pytest.fixture(scope="module")
def child() -> Federation:
    return federation("child", 0)


def not_moved(of: Federation, hostile: int, choose: str) -> None:
    result, tables = of.beside(hostile)
    assert smhd(of_all_sums(result, tables), of.honest) > 2  # unguarded, the attack works
    state = heard(result, tables, choose)
    assert state.unheard == tuple(f"x{k}" for k in range(hostile))
    chosen = state.conclude(result)
    assert chosen.choice is not None
    assert smhd(chosen.choice.dag, of.honest) <= 2
    assert chosen.choice.sites == tuple(sorted(tables))[: 10 - hostile]
    assert chosen.choice.rows == dict.fromkeys(chosen.choice.sites, 1_000)
    assert sum("left out of the counts" in said for said in run_remarks(chosen)) == 1
    record = choice_to_dict(chosen.choice)
    assert choice_to_dict(choice_from_dict(record, of.made_up.schema)) == record


@pytest.mark.parametrize("choose", ["counts", "climb"])
def test_made_up_rows_beside_a_structure_like_the_others_do_not_decide(
    child: Federation, choose: str
) -> None:
    not_moved(child, 1, choose)


@pytest.mark.slow
def test_nor_do_those_of_three_sites() -> None:
    not_moved(federation("alarm", 1), 3, "counts")


def test_no_order_of_sites_matters(child: Federation) -> None:
    result, tables = child.beside(1)
    there, back = heard(result, tables), heard(result, dict(reversed(tables.items())))
    assert there.unheard == back.unheard == ("x0",)
    assert there.climb is not None
    assert back.climb is not None
    assert (there.climb.dag, there.climb.value) == (back.climb.dag, back.climb.value)


def test_what_a_site_that_is_left_out_does_afterwards_changes_nothing(child: Federation) -> None:
    result, tables = child.beside(1)
    whole = heard(result, tables, "climb")
    assert whole.climb is not None
    assert whole.climb.rounds > 0
    for later in (None, child.tables["n0"].take(np.arange(500))):
        state = begin(result, "climb", 2)
        while (wanted := state.request()) is not None:
            of = tables if state.climb is None else {**tables, "x0": later}
            state = state.hear(
                {n: answer_request(wanted, t, 1.0) for n, t in of.items() if t is not None}
            )
        assert state.climb is not None
        assert (state.climb.dag, state.climb.value) == (whole.climb.dag, whole.climb.value)


@pytest.mark.parametrize("network", ["asia", "child"])
def test_honest_sites_of_any_size_are_heard(network: str) -> None:
    """Also one that has four times as many rows as each of the others."""
    source, rng = load_network(network), np.random.default_rng(8)
    for sizes in ([200] * 10, [2_000] + [500] * 9, [100, 150, 200, 300, 400, 600, 900, 1_000]):
        tables = {f"n{k}": source.sample(rows, rng) for k, rows in enumerate(sizes)}
        dags = {name: ges(make_score("bdeu", table)).dag for name, table in tables.items()}
        assert heard(fused(dags, source.schema), tables).unheard == ()


def test_sums_of_products_leave_made_up_numbers_out() -> None:
    schema = Schema(tuple(Variable(name) for name in NAMES))
    rng = np.random.default_rng(2)

    def honest() -> Dataset:
        a, d = rng.normal(size=(2, 400))
        b = a + rng.normal(size=400)
        return Dataset(schema, np.column_stack([a, b, b + d + rng.normal(size=400), d]))

    tables = {f"n{k}": honest() for k in range(6)}
    a = rng.normal(size=400)
    made_up = np.column_stack([a, rng.normal(size=400), a, a]) + 1e-4 * rng.normal(size=(400, 4))
    tables["x"] = Dataset(schema, made_up * [1, 1, 30, 30])
    true = DAG.from_edges(NAMES, ["ab", "bc", "dc"])
    result = fused(dict.fromkeys(tables, true), schema)
    scatters = {name: scatter_of_table(table) for name, table in tables.items()}
    chosen = choose_by_sums(result, scatters, ConsensusSettings(choose="climb"), seed=0)
    assert chosen.choice is not None
    assert chosen.choice.unheard == ("x",)
    assert chosen.choice.dag == true
    alone = {name: each for name, each in scatters.items() if name != "x"}
    without = choose_by_sums(result, alone, ConsensusSettings(choose="climb"), seed=0)
    assert without.choice is not None
    assert choice_to_dict(replace(chosen.choice, unheard=())) == choice_to_dict(without.choice)


def sums_of(
    worths: Mapping[str, Mapping[DAG, float]], rows: Mapping[str, int], own: Sequence[DAG]
) -> Sums:
    """Sums to which a structure is worth what it is worth to each site; of `own` they choose."""

    def worth_to(sites: tuple[str, ...]) -> Worth:
        return lambda dag: math.fsum(worths[site][dag] for site in sites)

    return Sums(
        rows,
        sum(rows.values()),
        lambda one, other: {site: of[one] - of[other] for site, of in worths.items()},
        worth_to,
        lambda sites: max(own, key=worth_to(sites)),
    )


six = st.tuples(*[st.integers(-60, 60).map(float)] * 6)
noise = st.tuples(*[st.integers(-4, 4).map(float)] * 6)


def additive(
    sites: Sequence[tuple[int, tuple[float, ...]]],
) -> tuple[dict[str, int], dict[str, dict[DAG, float]]]:
    """Rows, and what structures are worth, by names of sites."""
    names = [f"s{k:02}" for k in range(len(sites))]
    rows = {name: own for name, (own, _) in zip(names, sites, strict=True)}
    worths = {
        name: dict(zip(CANDIDATES + OTHERS, own, strict=True))
        for name, (_, own) in zip(names, sites, strict=True)
    }
    return rows, worths


def naive_owed(
    one: DAG,
    other: DAG,
    rows: Mapping[str, int],
    worths: Mapping[str, Mapping[DAG, float]],
    most: int,
) -> tuple[str, ...]:
    """The first sites by what they add to a lead, as many as have a third of all rows."""
    few: list[str] = []
    for name in sorted(rows, key=lambda name: (worths[name][other] - worths[name][one], name)):
        own = sum(rows[each] for each in (*few, name))
        if one != other and len(few) < most and 3 * own <= sum(rows.values()):
            few.append(name)
    return tuple(few)


@settings(max_examples=200, deadline=None)
@given(
    six,
    st.lists(st.tuples(st.integers(1, 50), noise), min_size=4, max_size=10),
    st.lists(st.tuples(st.integers(1, 50), six), max_size=4),
    st.sampled_from(CANDIDATES),
    st.sampled_from(CANDIDATES),
    st.randoms(use_true_random=False),
)
def test_who_decides_alone_is_who_does_for_a_slow_twin(
    base: tuple[float, ...],
    alike: list[tuple[int, tuple[float, ...]]],
    others: list[tuple[int, tuple[float, ...]]],
    chosen: DAG,
    consensus: DAG,
    rng: random.Random,
) -> None:
    """Sites that are worth the same but for noise, and some of which each is worth anything."""
    sites = [(n, tuple(map(operator.add, base, each))) for n, each in alike]
    sites += [(n, tuple(5 * worth for worth in each)) for n, each in others]
    rng.shuffle(sites)
    rows, worths = additive(sites)
    names, total = list(rows), sum(rows.values())
    most = most_left_out(len(sites))
    verdict = verdict_on(chosen, consensus, CANDIDATES, sums_of(worths, rows, OTHERS))

    def worth(heard: Sequence[str], dag: DAG) -> float:
        return sum(worths[name][dag] for name in heard)

    def others_of(few: Sequence[str]) -> list[str]:
        return [name for name in names if name not in few]

    def best_without(few: Sequence[str]) -> DAG:
        """What the rest chooses."""
        rest = others_of(few)
        own = max(OTHERS, key=lambda dag: worth(rest, dag))
        rivals = [d for d in (*CANDIDATES, own) if worth(names, d) <= worth(names, chosen)]
        if 2 * sum(rows[name] for name in rest) <= total:
            return chosen
        return max(rivals, key=lambda dag: worth(rest, dag))

    def each_of(few: Sequence[str], best: DAG) -> list[float]:
        """By how much each of the rest is for it."""
        return [worths[name][best] - worths[name][chosen] for name in others_of(few)]

    def error(each: list[float]) -> float:
        return float(np.std(each, ddof=1)) * len(each) ** 0.5

    def better(few: Sequence[str], best: DAG, nats: float, times: float) -> bool:
        """With sites like the rest instead of the few."""
        each = each_of(few, best)
        more = total / sum(rows[name] for name in others_of(few))
        return sum(each) > 0 and more * sum(each) > max(nats, times * more * error(each))

    def decide(few: Sequence[str]) -> bool:
        best = best_without(few)
        each = each_of(few, best)
        pushed = worth(few, chosen) - worth(few, best)
        enough = sum(each) > 6 * error(each) or (
            sum(each) > 2.5 * error(each) and pushed > sum(rows[name] for name in few)
        )
        return sum(each) > 10 and enough

    def turns(few: Sequence[str], nats: float, times: float) -> bool:
        best = best_without(few)
        if 3 * sum(rows[name] for name in few) > total or smhd(chosen, best) <= 3:
            return False
        return sum(each_of(few, best)) > 5 and better(few, best, nats, times)

    def fewest(few: Sequence[str], holds: Callable[[Sequence[str]], bool]) -> tuple[str, ...]:
        """Without the first that is not needed, and so on."""
        for one in few:
            fewer = [name for name in few if name != one]
            if fewer and holds(fewer):
                few = fewer
        return tuple(sorted(few))

    def unlike(name: str) -> float:
        """How much a site's rows speak unlike the median site's of some candidate."""
        found = 0.0
        for other in CANDIDATES:
            a_row = {n: (worths[n][chosen] - worths[n][other]) / rows[n] for n in names}
            apart = abs(a_row[name] - float(np.median([*a_row.values()])))
            found = max(found, apart * rows[name] ** 0.5)
        return found

    owed = naive_owed(chosen, consensus, rows, worths, most)
    stands = better(owed, consensus, 5, 0)
    if better(owed, consensus, 5, 3):
        assert verdict == Verdict(fewest(owed, lambda few: better(few, consensus, 5, 3)))
        return
    order = sorted(names, key=lambda name: (-unlike(name), name))
    tried: list[tuple[str, ...]] = [(name,) for name in order[: most + 1]]
    tried += [tuple(order[:k]) for k in (2, 3, 4)[: most - 1] if k != 3 or most == 3]
    if any(decide(few) for few in tried):
        found = verdict.decisive
        assert found
        assert len(found) <= most
        assert decide(found)
        if len(found) > 1:
            assert not any(decide(tuple(name for name in found if name != one)) for one in found)
        return
    for few in (tuple(order[:most]), owed):
        while few:
            lost = sum(each_of(few, best_without(few)))
            few = naive_owed(chosen, best_without(few), rows, worths, most)
            if not few or sum(each_of(few, best_without(few))) <= lost:
                break
            tried.append(few)
    for few in tried:
        if turns(few, 10, 3):
            assert verdict == Verdict(fewest(few, lambda few: turns(few, 10, 3)))
            return
    for few in tried:
        if turns(few, 5, 2) and not stands:
            named = fewest(few, lambda few: turns(few, 5, 2))
            assert verdict == Verdict(pivotal=named, moved=smhd(chosen, best_without(named)))
            return
    assert verdict == Verdict(stands=stands)


@given(st.lists(six, min_size=4, max_size=11), st.permutations(CANDIDATES))
def test_whichever_few_sites_are_missing_no_lead_is_smaller(
    worth: list[tuple[float, ...]], of: list[DAG]
) -> None:
    """Where scores add up and all sites have as many rows, the few that are found are the worst."""
    rows, worths = additive([(5, each) for each in worth])
    sums, most = sums_of(worths, rows, OTHERS), most_left_out(len(rows))
    few = pushing(of[0], of[1], sums, most)
    assert len(few) == most
    for others in itertools.combinations(rows, most):
        assert sums.lead(of[0], of[1], few) <= sums.lead(of[0], of[1], others)


def test_sites_like_the_rest_take_the_place_of_few() -> None:
    """Three sites support an edge with three nats each, the others with two; it costs 18."""
    names = [f"s{k}" for k in range(10)]

    def worth_to(sites: tuple[str, ...]) -> Worth:
        gain = sum(3 if site in names[:3] else 2 for site in sites) - 18
        return lambda dag: gain if dag == CANDIDATES[1] else 0.0

    sums = Sums(dict.fromkeys(names, 9), 90, lambda *_: {}, worth_to, lambda _: CANDIDATES[0])
    few = pushing(CANDIDATES[1], CANDIDATES[0], sums, 3)
    assert few == ("s0", "s1", "s2")
    found = contest(CANDIDATES[0], CANDIDATES[1], few, sums)
    assert (found.lead, found.error) == (4.0, 0.0)
    assert found.instead == pytest.approx(4 - 3 * 2)  # as 20 nats of ten sites for 18


@pytest.mark.parametrize("scale", [1, 10])
def test_alike_sites_are_heard_where_a_row_is_worth_more_among_more_rows(scale: int) -> None:
    """Ten of them support an edge that seven do not, whichever seven."""
    names = [f"s{k}" for k in range(10)]
    consensus, chosen = CANDIDATES[:2]

    def worth_to(sites: tuple[str, ...]) -> Worth:
        gain = scale * (len(sites) ** 3 / 30 - 30)
        return lambda dag: gain if dag == chosen else 0.0

    of_all = dict.fromkeys(names, 0.0)
    sums = Sums(dict.fromkeys(names, 9), 90, lambda *_: of_all, worth_to, lambda _: consensus)
    assert sums.lead(consensus, chosen, names[:3]) > 0 > sums.lead(consensus, chosen)
    assert verdict_on(chosen, consensus, [consensus, chosen], sums) == Verdict()


def test_the_consensus_of_the_structures_stands_where_few_alone_make_counts_better() -> None:
    chosen, consensus = CANDIDATES[0], CANDIDATES[1]
    names = [f"s{k}" for k in range(10)]

    def verdict(*own: float, unheard: int = 0, consensus: DAG = consensus) -> Verdict:
        """By how much each site is for the consensus."""
        worths = {
            name: {chosen: 0.0, consensus: each} for name, each in zip(names, own, strict=True)
        }
        sums = sums_of(worths, dict.fromkeys(names, 1), [consensus])
        return verdict_on(chosen, consensus, [chosen, consensus], sums, unheard)

    honest = (1.0, 1.2, 0.8, 1.0, 1.2, 0.8, 1.0)
    assert verdict(-9, -9, -9, *honest) == Verdict(("s0", "s1", "s2"))
    assert verdict(-9, -9, 0.9, *honest) == Verdict(("s0", "s1"))
    assert verdict(-9, -9, -9, *honest, unheard=1) == Verdict(stands=True)
    divided = (6.0, -3.0, 5.0, -2.0, 4.0, -3.0, 3.0)
    assert verdict(-9, -9, -9, *divided) == Verdict(stands=True)
    assert verdict(-9, -9, -9, *(each / 5 for each in divided)) == Verdict()


def test_few_sites_beside_many_that_agree_decide_alone() -> None:
    """The twin's random sites rarely do; here the first three of ten always do."""
    chosen, other = CANDIDATES[0], CANDIDATES[1]

    def found(*against: float, sites: int = 10) -> tuple[str, ...]:
        names = [f"s{k:02}" for k in range(sites)]
        pushing = [-300.0 - k for k in range(sites - len(against))]
        worths = {
            name: {chosen: 0.0, other: own}
            for name, own in zip(names, (*pushing, *against), strict=True)
        }
        sums = sums_of(worths, dict.fromkeys(names, 1), [other])
        return verdict_on(chosen, chosen, [chosen, other], sums).decisive

    assert found(*[5.0, 6.0, 4.0] * 3) == ("s00",)
    assert found(5.0, 6.0, 4.0, 5.0, 6.0, 4.0, 5.0) == ("s00", "s01", "s02")
    assert found(*[5.0, 6.0, 4.0] * 3, 5.0, sites=13) == ("s00", "s01", "s02")  # of four tried
    assert found(5.0, 6.0, 4.0, 5.0, 6.0, 4.0) == ()  # four of ten are no few
    assert found(50.0, 6.0, -40.0, 5.0, 60.0, -44.0, 5.0) == ()  # the others do not agree
    assert found(1.0, 1.5, 1.0, 1.5, 1.0, 1.5, 1.0) == ()  # and here it is not worth much


def test_sites_on_which_the_choice_hangs_are_named_and_heard() -> None:
    chosen, other = CANDIDATES[3], OTHERS[1]
    names = [f"s{k}" for k in range(10)]

    def verdict(own: float, near: DAG = other, rows: int = 90) -> Verdict:
        worths = {name: {chosen: 0.0, near: own + 2 * (k % 2)} for k, name in enumerate(names)}
        worths["s4"][near] = -60.0
        of_each = dict.fromkeys(names, 90) | {"s4": rows}
        return verdict_on(chosen, chosen, [near], sums_of(worths, of_each, [near]))

    assert verdict(-0.4) == Verdict(pivotal=("s4",), moved=5)
    assert verdict(-0.4, CANDIDATES[2]) == Verdict()  # it moves the choice by one
    assert verdict(-1.2) == Verdict()  # and here it is not worth much
    assert verdict(-0.4, rows=500) == Verdict()  # of 1,310
    assert verdict(0.3) == verdict(1.5) == Verdict(("s4",))


def test_a_remark_names_them(child: Federation) -> None:
    result, tables = child.beside(1)
    chosen = heard(result, tables).conclude(result)
    assert chosen.choice is not None
    choice = replace(chosen.choice, unheard=(), pivotal=("x0", "x1"), moved=5)
    (said,) = run_remarks(replace(chosen, choice=choice))
    assert said.startswith("what the counts chose hangs on x0, x1: the rows of the other sites")
    assert "a structure that is 5 away (SMHD); see whether their tables are" in said
    record = choice_to_dict(choice)
    assert choice_to_dict(choice_from_dict(record, child.made_up.schema)) == record
    stands = replace(choice, pivotal=(), stands=True)
    (said,) = run_remarks(replace(chosen, choice=stands))
    assert said.endswith("so the consensus of the structures stands")
    assert choice_from_dict(choice_to_dict(stands), child.made_up.schema).stands
    unheard = replace(choice, unheard=("x0",), pivotal=())
    for of_sums in (False, True):
        choice = replace(unheard, counts=None) if of_sums else unheard
        (said,) = run_remarks(replace(chosen, choice=choice))
        assert (
            "that the rows of all sites chose, or that one has no score; check" in said
        ) == of_sums


def test_who_alone_gives_what_is_chosen_a_score_decides_alone() -> None:
    """To the others' sums the chosen structure has none; where one of them lacks, neither has."""
    chosen, other = CANDIDATES[0], CANDIDATES[1]
    names = [f"s{k}" for k in range(6)]

    def worth_to(sites: tuple[str, ...]) -> Worth:
        lacking = "s3" not in sites or (len(sites) < 5 and "s1" not in sites)
        worths = {chosen: -math.inf if lacking else 50.0, other: 0.0}
        return lambda dag: worths[dag]

    sums = Sums(
        dict.fromkeys(names, 1),
        6,
        lambda *_: dict.fromkeys(names, 0.0) | {"s3": 9.0},
        worth_to,
        lambda _: other,
    )
    assert verdict_on(chosen, other, [other], sums).decisive == ("s3",)
    assert verdict_on(other, chosen, [chosen], sums).decisive == ()


def test_sites_are_left_out_with_fewer_than_half_of_all_rows() -> None:
    chosen, other = CANDIDATES[0], CANDIDATES[1]
    names = [f"s{k}" for k in range(10)]
    worths = {name: {chosen: 0.0, other: 5.0 + k} for k, name in enumerate(names)}
    worths["s0"][other] = -900.0
    for of_one, few in ((799, ("s0",)), (900, ())):
        rows = dict.fromkeys(names, 100) | {"s0": of_one}
        sums = sums_of(worths, rows, [other])
        assert verdict_on(chosen, chosen, [chosen, other], sums).decisive == few
        gone_before = replace(sums, rows_in_all=2 * sum(rows.values()))
        assert verdict_on(chosen, chosen, [chosen, other], gone_before).decisive == ()
