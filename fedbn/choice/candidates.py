"""The candidates for the consensus: the states of every row-weight class, each structure once.

A site that counts its rows k times (`make_score`, row weight) admits weak edges, and chance ones.
Chance edges differ from site to site, weak true ones do not, so the fusion of the class of one k
deletes the first and keeps the second; but how large k may be differs from problem to problem.
So each site learns once per k of a ladder, every class is fused by itself, and what is then to be
chosen is one of all their states: both readings, all poolings, every θ.

A family may be too large to be counted. Then the family goes, not the structure: its other families
are counted, and go into the ordering search as all do. Only a structure whose families are all
counted has a score. The consensus of the structures is always among them: where one of its families
cannot be counted, that variable keeps the parents it has there (`Candidates.uncounted`).

Further families are asked for where there is room, at most as many again: those that sites sent,
and those that votes make likely (`fedbn.choice.further_families`).

Where the limits leave families out, their variables with each of their parents alone are asked for
first, after the consensus, the smallest first, in half of the room. Else the large families of few
candidates take the room of all: then a variable of many states, of which the families are the
largest, is nobody's parent, and what it explains joins its children with one another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from fedbn.consensus.threshold import PathState
from fedbn.data.schema import Schema
from fedbn.graphs.dag import DAG
from fedbn.networks.family_counts import LARGEST_TABLE, SMALL_CELLS, Family, families_of
from fedbn.networks.network import configurations
from fedbn.scores.mixed import block_widths


@dataclass(frozen=True)
class CandidateLimits:
    """How much is asked about.

    Attributes
    ----------
    max_candidates : candidates at most.
    family_cells : cells of the table of one family at most; it keeps G+ and its like out, whose
        tables hold more cells than there are rows.
    few_parents, state_cells : a family of at most `few_parents` parents is large for the states of
        its columns, and may have up to `state_cells` cells.
    consensus_cells : cells of a family of the consensus of the structures: what cannot be counted
        stays as it is, so no more is left out there than must be.
    cells : cells of all tables together at most, of each at most `SMALL_CELLS` counted.
    """

    max_candidates: int = 1_000
    family_cells: int = 20_000
    few_parents: int = 4
    state_cells: int = 1_000_000
    consensus_cells: int = LARGEST_TABLE
    cells: int = 2_000_000

    def allows(self, schema: Schema, family: Family, *, of_consensus: bool = False) -> bool:
        """Whether a family's table is small enough to be counted."""
        cells = cells_of(schema, family)
        if of_consensus and cells <= self.consensus_cells:
            return True
        few = len(family.parents) <= self.few_parents
        return cells <= (max(self.family_cells, self.state_cells) if few else self.family_cells)


SUMMED_LIMITS = CandidateLimits(state_cells=SMALL_CELLS, consensus_cells=SMALL_CELLS)
"""Under secure sums every cell is masked and sent, empty or not."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """One structure that may become the consensus: the state of a path of a row-weight class."""

    row_weight: float
    state: PathState
    dag: DAG


@dataclass(frozen=True, eq=False)
class Candidates:
    """The distinct structures to choose among, the families to ask for, and what was left out.

    Parameters
    ----------
    listed : the structures that have a score, by ascending row weight; within a class in the order
        of its states, but the consensus of the structures first.
    families : of all structures, but for those left out; every variable without parents is there.
    left_out : the families that the limits left out, sorted.
    uncounted : those of them that the consensus of the structures has: these stay as they are.
    """

    listed: tuple[Candidate, ...]
    families: tuple[Family, ...]
    left_out: tuple[Family, ...] = ()
    uncounted: tuple[Family, ...] = ()


def candidates_of(
    classes: Sequence[tuple[float, Sequence[PathState]]],
    schema: Schema,
    consensus: Candidate,
    limits: CandidateLimits | None = None,
    more: Sequence[Family] = (),
) -> Candidates:
    """List the candidates of all classes.

    Parameters
    ----------
    classes : row weight and states of each class; the states of a class by preference, so that
        the limits leave out the least preferred. Classes take turns.
    schema : the agreed one, whose cardinalities give the size of tables.
    consensus : what the structures alone chose; always a candidate.
    limits : what is asked about at most.
    more : families that are asked for, too, where there is room, the first ones first: at most as
        many as those of the candidates, and of no more parents. Those that do not fit are not among
        the families left out.
    """
    of = classes, schema, consensus, limits or CandidateLimits(), more
    found = _candidates_within(*of)
    parts = {Family(node, (one,)) for node, parents in found.left_out for one in parents}
    smallest = sorted(parts, key=lambda each: (cells_of(schema, each), each))
    return _candidates_within(*of, smallest) if parts else found


def _candidates_within(
    classes: Sequence[tuple[float, Sequence[PathState]]],
    schema: Schema,
    consensus: Candidate,
    bounds: CandidateLimits,
    more: Sequence[Family],
    parts: Sequence[Family] = (),
) -> Candidates:
    """The candidates of all classes; `parts` are families that are wanted right after those of the
    consensus, until half of the room is taken."""
    asked = _Asked(schema, bounds)
    asked.want(families_of([DAG.empty(schema.names)]))
    listed: list[Candidate] = []
    uncounted: frozenset[Family] = frozenset()
    for place, candidate in enumerate([consensus, *_in_turns(classes, consensus.dag)]):
        families = families_of([candidate.dag])
        if len(listed) == bounds.max_candidates:
            asked.left_out.update(family for family in families if family not in asked.kept)
            continue
        asked.want(families, of_consensus=place == 0)
        lacking = asked.left_out.intersection(families)
        if place == 0:
            uncounted = frozenset(lacking)
            asked.want(each for each in parts if 2 * asked.total <= bounds.cells)
        if lacking <= uncounted:
            listed.append(candidate)
    asked.want_too(more)
    listed.sort(key=lambda candidate: candidate.row_weight)
    return Candidates(
        tuple(listed),
        tuple(sorted(asked.kept)),
        tuple(sorted(asked.left_out)),
        tuple(sorted(uncounted)),
    )


def with_column(
    candidates: Candidates,
    schema: Schema,
    column: int,
    limits: CandidateLimits | None = None,
    more: Iterable[Family] = (),
) -> Candidates:
    """The candidates, with one column as a further parent of every family that is asked for; `more`
    as for `candidates_of`, with and without that column.

    No site sees an edge of a column that is constant within it; sums over sites do.
    """
    asked = _Asked(schema, limits or CandidateLimits())
    asked.want(candidates.families)
    fixed = {family.node for family in candidates.uncounted}
    asked.want(
        Family(node, tuple(sorted((*parents, column))))
        for node, parents in candidates.families
        if column != node and column not in parents and node not in fixed
    )
    left_out = {*candidates.left_out, *asked.left_out}
    asked.want_too(more)
    return replace(candidates, families=tuple(sorted(asked.kept)), left_out=tuple(sorted(left_out)))


class _Asked:
    """The families that are asked for, and those that the limits leave out."""

    def __init__(self, schema: Schema, limits: CandidateLimits) -> None:
        self.schema, self.limits, self.total = schema, limits, 0
        self.kept: set[Family] = set()
        self.left_out: set[Family] = set()

    def want(self, families: Iterable[Family], *, of_consensus: bool = False) -> None:
        for family in families:
            if family in self.kept or family in self.left_out:
                continue
            if self.has_room_for(family, of_consensus=of_consensus):
                self.kept.add(family)
                self.total += self._cost(family)
            else:
                self.left_out.add(family)

    def want_too(self, more: Iterable[Family]) -> None:
        """Ask for the first of these that there is room for, at most as many again, and of no more
        parents: a site that refuses so many (`counts-max-parents`) gives no counts at all."""
        most = max((len(each.parents) for each in self.kept), default=0)
        small = (each for each in more if len(each.parents) <= most)
        fitting = (each for each in small if each not in self.kept and self.has_room_for(each))
        self.want(islice(fitting, len(self.kept)))

    def has_room_for(self, family: Family, *, of_consensus: bool = False) -> bool:
        """Whether the limits allow a family beside what is asked for."""
        fits = self.total + self._cost(family) <= self.limits.cells
        return fits and self.limits.allows(self.schema, family, of_consensus=of_consensus)

    def _cost(self, family: Family) -> int:
        return min(cells_of(self.schema, family), SMALL_CELLS)


def _in_turns(
    classes: Sequence[tuple[float, Sequence[PathState]]], consensus: DAG
) -> Iterator[Candidate]:
    """The distinct structures of all classes but the consensus; classes take turns."""
    seen = {consensus}
    for rank in range(max(len(states) for _, states in classes)):
        for row_weight, states in classes:
            if rank < len(states) and states[rank].dag not in seen:
                seen.add(states[rank].dag)
                yield Candidate(row_weight, states[rank], states[rank].dag)


def cells_of(schema: Schema, family: Family) -> int:
    """How many cells the table of a family has, exact; of a family in which there are numbers, how
    many sums of products its score is of."""
    if schema.kind != "categorical":
        widths = block_widths(schema)
        size = sum(widths[each] for each in (family.node, *family.parents))
        return size * (size + 1) // 2
    sizes = schema.cardinalities
    return configurations(sizes[list(family.parents)]) * int(sizes[family.node])
