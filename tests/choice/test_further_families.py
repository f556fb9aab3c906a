"""Families beside those of the candidates: their order, against one found by counting."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given

from fedbn.choice.further_families import SURE, VOTED_PARENTS, sent_families, voted_families
from fedbn.consensus.votes import votes_of
from fedbn.fusion.inputs import merge_inputs
from fedbn.graphs.dag import DAG
from fedbn.graphs.pdag import dag_to_cpdag
from fedbn.networks.family_counts import Family
from tests.strategies import dag_lists


def test_families_that_sites_sent_are_ordered_by_how_many_sent_them() -> None:
    chain, fork = DAG.from_edges("abc", ["ab", "bc"]), DAG.from_edges("abc", ["ab", "ac"])
    once, weighted = merge_inputs([chain, fork, fork]), merge_inputs([chain, fork], [3, 1])
    shared = [Family(0, ()), Family(1, (0,))]
    assert sent_families([once]) == [*shared, Family(2, (0,)), Family(2, (1,))]
    assert sent_families([weighted]) == [*shared, Family(2, (1,)), Family(2, (0,))]
    # 1/3 + 3/4 against 2/3 + 1/4, in either order of the classes
    assert sent_families([once, weighted]) == sent_families([weighted, once])
    assert sent_families([once, weighted])[2] == Family(2, (1,))


def likelihoods(dags: list[DAG]) -> dict[Family, Fraction]:
    """All families of likely parents, by counting classes; exact."""
    classes, names = [dag_to_cpdag(dag) for dag in dags], dags[0].names
    sure, found = Fraction(SURE), {}
    for node, name in enumerate(names):
        shares = {
            other: min(
                Fraction(
                    sum(
                        (parent, name) in each.directed_edges
                        or {parent, name} in [{*pair} for pair in each.undirected_edges]
                        for each in classes
                    ),
                    len(dags),
                ),
                sure,
            )
            for other, parent in enumerate(names)
            if other != node
        }
        for size in range(1, VOTED_PARENTS + 1):
            for parents in combinations([k for k, share in shares.items() if share], size):
                likely = Fraction(1)
                for other, share in shares.items():
                    likely *= share if other in parents else 1 - share
                found[Family(node, parents)] = likely
    return found


@given(dag_lists(max_nodes=6))
def test_voted_families_are_the_likeliest_by_counting_classes(dags: list[DAG]) -> None:
    twin = likelihoods(dags)
    found = voted_families([votes_of(merge_inputs(dags))])
    assert sorted(found) == sorted(twin)
    assert [float(twin[each]) for each in found] == pytest.approx(
        sorted(map(float, twin.values()), reverse=True), rel=1e-9
    )
    assert voted_families([votes_of(merge_inputs(dags[::-1]))]) == found


def test_of_many_parents_the_likeliest_make_families() -> None:
    star = DAG.from_edges("abcdefgh", [parent + "h" for parent in "abcdefg"])
    most = DAG.from_edges("abcdefgh", [parent + "h" for parent in "bcdefg"])
    found = voted_families([votes_of(merge_inputs([star, star, most]))])
    of_h = [each for each in found if each.node == 7]
    assert {parent for each in of_h for parent in each.parents} == {1, 2, 3, 4, 5, 6}
    assert len(of_h) == 6 + 15 + 20 + 15


def test_a_family_is_as_likely_as_in_the_class_where_it_is_likeliest() -> None:
    chain, none = DAG.from_edges("abc", ["ab", "bc"]), DAG.empty("abc")
    weak, strong = (
        [votes_of(merge_inputs(dags))] for dags in ([none, none, chain], [chain, chain])
    )
    assert voted_families(weak + strong) == voted_families(strong + weak)
    assert voted_families(weak + strong) == voted_families(strong)
