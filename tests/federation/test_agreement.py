"""Schema negotiation: who matches, and what each site is told."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbn.data.schema import Schema, Variable
from fedbn.errors import SchemaError
from fedbn.federation.agreement import Mismatch, negotiate, own_states


def schema(**states: str) -> Schema:
    """Columns with one state per letter."""
    return Schema.categorical(states)


def test_states_are_united_where_columns_agree() -> None:
    found = negotiate({"n": schema(a="xy", b="1"), "s": schema(a="yz", b="2")})
    assert found.schema == schema(a="xyz", b="12")
    assert found.mismatches == {}
    found.require_all()


def test_most_sites_decide_and_the_others_hear_about_their_own_columns() -> None:
    sites = {"n": schema(a="x", b="x"), "s": schema(a="y", b="y"), "w": schema(a="q", c="z")}
    found = negotiate(sites)
    assert found.schema == schema(a="xy", b="xy")
    assert found.mismatches == {"w": Mismatch(missing=("b",), unknown=("c",))}
    assert "'x'" not in found.mismatches["w"].words()
    words = "client 'w' has no column 'b'; has column 'c'.*variables = union .*leave-out"
    with pytest.raises(SchemaError, match=words):
        found.require_all()


def test_ties_go_to_the_columns_that_come_first() -> None:
    sites = {"n": schema(b="x"), "s": schema(a="x")}
    assert negotiate(sites).schema == schema(a="x")
    assert set(negotiate(sites).mismatches) == {"n"}


def test_who_lacks_a_column_that_is_not_agreed_is_named() -> None:
    two = {"north": schema(a="x", xray="x"), "south": schema(a="x")}
    words = (
        "'north' has column 'xray', which is not agreed; 'xray' .* client 'south' lacks it; vari"
    )
    with pytest.raises(SchemaError, match=words):
        negotiate(two).require_all()
    four = two | {site: schema(a="x") for site in ("east", "west")}
    with pytest.raises(SchemaError, match="clients 'east', 'south', 'west' lack it; vari"):
        negotiate(four).require_all()
    with pytest.raises(SchemaError) as error:
        negotiate(four, schema(a="x")).require_all()
    assert str(error.value).endswith("client 'north' has column 'xray', which is not agreed")


def test_a_given_schema_is_the_law() -> None:
    given_schema = schema(a="xy", b="x")
    sites = {"n": schema(a="x", b="x"), "s": schema(a="xz", b="x"), "w": schema(a="x")}
    found = negotiate(sites, given_schema)
    assert found.schema == given_schema
    assert found.mismatches["s"] == Mismatch(states={"a": ("z",)})
    assert found.mismatches["s"].words() == "column 'a' has state 'z', which is not agreed"
    assert found.mismatches["w"] == Mismatch(missing=("b",))
    assert "n" not in found.mismatches
    with pytest.raises(SchemaError) as error:
        negotiate({"s": schema(a="xz", b="x")}, given_schema).require_all()
    assert "to come" not in str(error.value)


def test_the_other_kind_does_not_match() -> None:
    sites = {"n": schema(a="x"), "s": schema(a="y"), "w": Schema.gaussian("a")}
    assert negotiate(sites).mismatches == {"w": Mismatch(kind="categorical")}
    floats = negotiate({"n": Schema.gaussian("ab"), "s": Schema.gaussian("ab")})
    assert floats.schema == Schema.gaussian("ab")


def test_long_lists_are_cut() -> None:
    sites = {"n": schema(**dict.fromkeys("abcdef", "x")), **{s: schema(z="x") for s in "opqrst"}}
    found = negotiate(sites).mismatches["n"].words()
    assert "'a', 'b', 'c' and 3 more" in found
    others = {s: schema(**{s: "x"}) for s in "abcdef"}
    with pytest.raises(SchemaError, match="and 2 more clients"):
        negotiate(others).require_all()


def test_an_agreement_needs_somebody() -> None:
    with pytest.raises(SchemaError, match="at least one client"):
        negotiate({})


SCHEMAS = st.dictionaries(
    st.sampled_from("nswe"),
    st.dictionaries(st.sampled_from("abc"), st.sets(st.sampled_from("xyz"), min_size=1)).filter(
        bool
    ),
    min_size=1,
)


@given(SCHEMAS)
def test_by_definition(drawn: dict[str, dict[str, set[str]]]) -> None:
    sites = {site: Schema.categorical(columns) for site, columns in drawn.items()}
    found = negotiate(sites)
    columns = [tuple(sorted(c)) for c in drawn.values()]
    wanted = min(sorted(set(columns)), key=lambda names: -columns.count(names))
    matching = {site for site, c in drawn.items() if tuple(sorted(c)) == wanted}
    assert set(found.mismatches) == set(sites) - matching
    united = {name: set().union(*(drawn[s][name] for s in matching)) for name in wanted}
    assert found.schema == Schema.categorical(united)
    alone = own_states({site: sites[site] for site in matching})
    for site in matching:
        others = [drawn[s] for s in matching - {site}]
        expected = {
            name: tuple(sorted(drawn[site][name] - set().union(*(o[name] for o in others))))
            for name in wanted
            if others
        }
        assert alone.get(site, {}) == {name: states for name, states in expected.items() if states}


def test_of_sites_of_which_none_matches_all_others_each_is_named() -> None:
    """Each of two columns is a number at one site and has states at the other."""
    two = ("0", "1")
    schemas = {
        "a": Schema((Variable("x"), Variable("y", two), Variable("z", two))),
        "b": Schema((Variable("x", two), Variable("y"))),
        "c": Schema((Variable("x", two), Variable("z"))),
        "d": Schema((Variable("y"), Variable("z"), Variable("x"))),
    }
    for sites in ("ab", "abc", "ac", "abcd"):
        found = negotiate({site: schemas[site] for site in sites}, variables="union")
        with pytest.raises(SchemaError, match="client 'a' has column"):
            found.require_all()


def test_a_column_that_only_a_site_that_differs_has_is_named() -> None:
    two = ("0", "1")
    same = Schema((Variable("x", two), Variable("y", two)))
    schemas = {"a": same, "b": same, "c": Schema((Variable("q", two), Variable("x")))}
    found = negotiate(schemas, variables="union")
    assert found.schema.names == ("x", "y")
    assert found.mismatches["c"].words() == (
        "has column 'q', which is not agreed; "
        "has column 'x' as numbers or categories, not as agreed"
    )
