"""Where groups differ: for every pair of variables, the votes on both sides and how sure it is.

A pair is a difference of two groups where the consensus of one joins it and that of the other does
not (kind "edge"), or where both join it and their equivalence classes disagree on its mark
(kind "direction": a -> b, b -> a or open). The votes are those of the groups' sites: how many have
the edge, in either direction or with that mark. A site that lacks one of the two has no vote, and
where all sites of a group do, the pair is no difference. The p-value is that of Fisher's exact
test, two-sided, on (votes, no votes) of the two groups, adjusted by Holm over all differences of
one kind of the two groups; a site with several structures votes with the one of the largest share,
ties to the first.

The groups were found from the same votes, so the p-values are those of groups that were given.
Where the groups come from the tree, read them as an order of certainty.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fedbn.arrays import Ints
from fedbn.consensus.votes import Votes
from fedbn.graphs.dag import DAG
from fedbn.graphs.pdag import dag_to_cpdag
from fedbn.groups.profiles import SiteStructures


@dataclass(frozen=True)
class Difference:
    """One pair of variables in which two groups differ.

    Attributes
    ----------
    group, other : numbers of the groups, from 1, group < other.
    kind : "edge" (one consensus joins the pair, the other does not) or "direction".
    variable, second : the pair, sorted as text.
    mark, other_mark : what the consensus classes of the groups say: "->", "<-", "-" or "".
    votes, sites, other_votes, other_sites : of each group's sites, how many join the pair; for
        "direction", how many have the mark of the first group.
    p : of Fisher's exact test, two-sided; p_holm : adjusted over those of the kind.
    """

    group: int
    other: int
    kind: str
    variable: str
    second: str
    mark: str
    other_mark: str
    votes: int
    sites: int
    other_votes: int
    other_sites: int
    p: float
    p_holm: float


def differences_of(
    groups: tuple[int, ...], structures: Sequence[SiteStructures], consensuses: Sequence[DAG]
) -> tuple[Difference, ...]:
    """All differences of all pairs of groups, by groups, kind, p, then variables.

    Parameters
    ----------
    groups : the group of every site, from 0.
    structures : of the sites, in the same order, names sorted.
    consensuses : of the groups, over the variables of all, names sorted.
    """
    of, names = np.array(groups), consensuses[0].names
    marks = np.stack([_marks_among(_leading(entry), names) for entry in structures])
    votes = [
        np.stack([(marks[of == group] == mark).sum(axis=0) for mark in range(len(MARKS))])
        for group in range(len(consensuses))
    ]
    return differences_by_votes(consensuses, votes)


def differences_by_votes(
    consensuses: Sequence[DAG], votes: Sequence[Ints]
) -> tuple[Difference, ...]:
    """`differences_of` groups of which the votes alone are known.

    votes : of every group, int64 [4, n, n]: how many of its sites have each of `MARKS` on (a, b).
    """
    own = [_marks(dag) for dag in consensuses]
    found: list[Difference] = []
    for g in range(len(own)):
        for h in range(g + 1, len(own)):
            rows = [
                _difference((g, h), consensuses[g].names, (a, b), (votes[g], votes[h]), own)
                for a, b in np.argwhere(np.triu(own[g] != own[h], k=1)).tolist()
                if votes[g][:, a, b].any() and votes[h][:, a, b].any()
            ]
            for kind in ("edge", "direction"):
                found += _adjust([row for row in rows if row.kind == kind])
    return tuple(found)


def votes_of_sums(votes: Votes, names: tuple[str, ...]) -> Ints:
    """The votes on marks of sites that have one structure each, from their sums; over `names`,
    sorted, which hold those of the votes. Who lacks one of two variables has no vote on them."""
    (a, b), n = votes.pairs.T, len(votes.names)
    forward, back, open_ = votes.classes
    compelled = np.zeros((n, n), dtype=np.int64)
    compelled[a, b], compelled[b, a] = forward, back
    joined = votes.matrix(votes.classes.sum(axis=0))
    voting = votes.total if votes.seen is None else votes.seen
    found = np.zeros((len(MARKS), len(names), len(names)), dtype=np.int64)
    own = np.searchsorted(names, votes.names)
    told = np.stack([voting - joined, compelled, compelled.T, votes.matrix(open_)])
    found[:, own[:, None], own] = told
    return found


def _leading(entry: SiteStructures) -> DAG:
    """The structure of the largest share, ties to the first."""
    best = max(range(len(entry.dags)), key=lambda k: (entry.shares[k], -k))
    return entry.dags[best]


MARKS = ("", "->", "<-", "-")


def _marks(dag: DAG) -> NDArray[np.int8]:
    """int8 [n, n]: places in MARKS of what the class of a DAG says of each pair (a, b)."""
    adjacency = dag_to_cpdag(dag).adjacency
    marks: NDArray[np.int8] = adjacency.astype(np.int8) + 2 * adjacency.T.astype(np.int8)
    return marks


def _marks_among(dag: DAG, names: tuple[str, ...]) -> NDArray[np.int8]:
    """The same over the variables of all sites; -1 where the site lacks one of the two."""
    if dag.names == names:
        return _marks(dag)
    marks = np.where(np.isin(names, dag.names), 0, -1).astype(np.int8)
    known: NDArray[np.int8] = np.minimum.outer(marks, marks)
    return np.where(known < 0, known, _marks(dag.extend(names)))


def _difference(
    pair: tuple[int, int],
    names: tuple[str, ...],
    at: tuple[int, int],
    votes: tuple[Ints, Ints],
    own: Sequence[NDArray[np.int8]],
) -> Difference:
    """The row of one pair of variables, not yet adjusted."""
    from scipy.stats import fisher_exact

    a, b = at
    mark, other = int(own[pair[0]][a, b]), int(own[pair[1]][a, b])
    edge = not (mark and other)
    told = [group[:, a, b] for group in votes]
    sizes = [int(each.sum()) for each in told]
    have = [
        int(size - each[0] if edge else each[mark]) for size, each in zip(sizes, told, strict=True)
    ]
    table = [[have[0], sizes[0] - have[0]], [have[1], sizes[1] - have[1]]]
    p = float(fisher_exact(table).pvalue)
    return Difference(
        group=pair[0] + 1,
        other=pair[1] + 1,
        kind="edge" if edge else "direction",
        variable=names[a],
        second=names[b],
        mark=MARKS[mark],
        other_mark=MARKS[other],
        votes=have[0],
        sites=sizes[0],
        other_votes=have[1],
        other_sites=sizes[1],
        p=p,
        p_holm=p,
    )


def _adjust(rows: Sequence[Difference]) -> list[Difference]:
    """The rows of one kind of one pair of groups, by p, with adjusted p-values."""
    adjusted = holm([row.p for row in rows])
    told = [replace(row, p_holm=p) for row, p in zip(rows, adjusted, strict=True)]
    return sorted(told, key=lambda row: (row.p, row.variable, row.second))


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values (Scandinavian Journal of Statistics 6:65, 1979).

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = sorted(range(len(p_values)), key=lambda i: (p_values[i], i))
    adjusted, largest = [0.0] * len(p_values), 0.0
    for rank, i in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[i]))
        adjusted[i] = largest
    return adjusted
