"""Which sites have all columns of a family, where sites have different columns.

A site counts the families that it has all of, and is asked for no other. So the table of a family
is of the rows of these sites, and a family that no site has whole has no table at all.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from fedbn.federation.family_message import FamilyRequest
from fedbn.federation.state import FederationResult
from fedbn.graphs.dag import DAG
from fedbn.networks.family_counts import Family, FamilyTables

Columns = Mapping[str, frozenset[int]]
"""Site -> the agreed columns that it has, as places in the schema."""


def columns_of(result: FederationResult) -> dict[str, frozenset[int]]:
    """The columns of every site that takes part, as its structures have them."""
    place = {name: k for k, name in enumerate(result.schema.names)}
    return {
        reply.client: frozenset(place[name] for name in reply.dags[0].names)
        for reply in result.replies
    }


def columns_differ(result: FederationResult) -> bool:
    """Whether a site lacks a column that is agreed on."""
    return any(len(own) < result.schema.n for own in columns_of(result).values())


def own_families(families: Iterable[Family], columns: frozenset[int]) -> tuple[Family, ...]:
    """Those of which all columns are there, in their order."""
    return tuple(each for each in families if {each.node, *each.parents} <= columns)


def with_own_families(dag: DAG, names: Collection[str]) -> DAG:
    """A DAG over some of its variables: with the families that lie in them; the others have no
    parents.

    >>> with_own_families(DAG.from_edges("abc", ["ab", "bc", "ac"]), "ab").edges
    (('a', 'b'),)
    >>> with_own_families(DAG.from_edges("abc", ["ab", "bc", "ac"]), "bc").edges
    ()
    """
    whole = set(whole_families(dag, names))
    arcs = [(parent, child) for parent, child in dag.edges if child in whole]
    return DAG.from_edges(sorted(names), arcs)


def whole_families(dag: DAG, names: Collection[str]) -> tuple[str, ...]:
    """The variables among these whose parents are among them."""
    own = set(names)
    return tuple(
        name
        for name, parents in zip(dag.names, dag.parent_sets(), strict=True)
        if name in own and all(dag.names[p] in own for p in parents)
    )


def requests_of(wanted: FamilyRequest, columns: Columns) -> dict[str, FamilyRequest]:
    """What every site is asked of a request: its own families; nothing of a site without any."""
    found = {}
    for site, own in columns.items():
        families = own_families(wanted.tables.families, own)
        if families == wanted.tables.families:
            found[site] = wanted
        elif families:
            tables = FamilyTables(wanted.tables.schema, families)
            found[site] = FamilyRequest(tables, wanted.with_own)
    return found
