"""Markov equivalence classes of the credible DAGs: how many, one member of each, how large.

Two DAGs are equivalent iff they have the same skeleton and the same v-structures (Verma & Pearl).
Edges between components of the candidates' graph all point one way, so a class is a combination
of classes per component: the colliders of a node whose parents both lie outside its component
follow from the skeleton. Classes are therefore found per component and counted under the budget.

A component with few DAGs is listed. Of a larger one only representatives are: a -> b is covered
when pa(b) = pa(a) + a, and reversing a covered edge stays in the class (Chickering 1995). Reversing
those from the larger label to the smaller ends at a member without one, so members that have such
an edge are left out while the diagram is descended; 1.0 to 1.8 members per class remain, which the
key of their skeleton and v-structures settles.

The paper's |M| counts distinct (skeleton, all colliders, shielded ones too), which is finer than
equivalence: `coarse_count` reproduces it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fedbn._core.credible import class_keys
from fedbn.arrays import Bits, Floats, Ints, Ints32
from fedbn.credible.class_size import class_size
from fedbn.credible.depth_first import Listed
from fedbn.credible.diagram import Barred, Diagram
from fedbn.credible.enumerate import CredibleSet, combine, cumulative_weight, ordered_sums
from fedbn.credible.filter import Component
from fedbn.credible.limits import DiagramLimit, Limits
from fedbn.credible.profiles import Profile
from fedbn.graphs.dag import DAG
from fedbn.search.families.families import Families

CHUNK = 200_000
LISTED_DAGS = 2_000_000  # components with more are searched for representatives


@dataclass(frozen=True)
class CredibleClass:
    """One equivalence class: a member, its excess, and how many members are credible."""

    dag: DAG
    excess: float
    members: int


@dataclass(frozen=True, eq=False)
class ComponentClasses:
    """The classes of one component by ascending excess.

    rows [K, m] families of one member (the first in order of those met), excess [K]; members [K]
    or None where only representatives were listed.
    """

    rows: Ints32
    excess: Floats
    members: Ints | None

    def profile(self) -> Profile:
        """The number of classes per excess."""
        value, count = np.unique(self.excess, return_counts=True)
        return Profile(value, tuple(int(c) for c in count))


@dataclass(frozen=True, eq=False)
class MarkovClasses:
    """The classes of a credible set."""

    credible: CredibleSet
    parts: tuple[ComponentClasses, ...]

    @cached_property
    def count(self) -> int:
        """The exact number of classes; a lower bound unless the set is complete."""
        profiles = [part.profile() for part in self.parts]
        return sum(combine(profiles, self.credible.budget).count)

    @property
    def total_weight(self) -> float:
        """Σ exp(-excess), every class once."""
        profile = combine([part.profile() for part in self.parts], self.credible.budget)
        return float(cumulative_weight(profile)[1][-1])

    def members_of(self, k: int) -> tuple[Ints32, Floats, Ints]:
        """All DAGs of one component: rows, excesses, and the size of each one's class.

        Raises
        ------
        DiagramLimit : they are too many to be listed.
        """
        credible = self.credible
        finder = _Finder(credible.components[k], credible.parts[k], credible, Limits())
        return finder.dags()

    @cached_property
    def coarse_count(self) -> int:
        """The paper's |M|: distinct skeletons with all their colliders.

        Raises
        ------
        DiagramLimit : a component has too many DAGs to be listed.
        """
        limits = Limits()
        profiles = []
        for component, part in zip(self.credible.components, self.credible.parts, strict=True):
            _require_listable(part.profile.within(self.credible.budget), 100 * LISTED_DAGS)
            found = _Finder(component, part, self.credible, limits).classes(shielded=True)
            profiles.append(found.profile())
        return sum(combine(profiles, self.credible.budget).count)

    def __iter__(self) -> Iterator[CredibleClass]:
        """Classes by ascending cost."""
        for places, excess in self.places():
            yield CredibleClass(self.dag_at(places), excess, self.members_at(places))

    def places(self) -> Iterator[tuple[tuple[int, ...], float]]:
        """The class of each component, and the excess, of every class by ascending cost."""
        lists = [part.excess.tolist() for part in self.parts]
        return ordered_sums(lists, self.credible.budget)

    def dag_at(self, places: Sequence[int]) -> DAG:
        """A member of the class with these places."""
        rows = [part.rows[at] for part, at in zip(self.parts, places, strict=True)]
        return self.credible.dag_of(rows)

    def members_at(self, places: Sequence[int]) -> int:
        """How many DAGs the class with these places has."""
        members = 1
        for part, at in zip(self.parts, places, strict=True):
            if part.members is None:
                return class_size(self.dag_at(places))
            members *= int(part.members[at])
        return members


def markov_classes(
    credible: CredibleSet, *, memory: int | None = None, seconds: float | None = None
) -> MarkovClasses:
    """The equivalence classes of a credible set.

    Parameters
    ----------
    credible : the set; its components are listed one by one, never their product.
    memory : bytes for the classes of a component, by default half of what is free.
    seconds : wall clock.

    Raises
    ------
    DiagramLimit : a component has too many classes for the limits.
    """
    limits = Limits(memory, seconds)
    parts = []
    for component, part in zip(credible.components, credible.parts, strict=True):
        finder = _Finder(component, part, credible, limits)
        few = part.profile.within(credible.budget) <= LISTED_DAGS
        # Reversing a covered edge must lead to a DAG that is in the set.
        if few or not (credible.candidates.complete and isinstance(part, Diagram)):
            parts.append(finder.classes())
        else:
            parts.append(
                finder.classes(barred=covered_edges(credible.candidates.families, component))
            )
    return MarkovClasses(credible, tuple(parts))


def covered_edges(whole: Families, component: Component) -> Barred:
    """Families of b and a with a covered edge a -> b from the larger label to the smaller.

    For each family (b, P) of the component the families (a, P - a), a in P, a > b.
    """
    nodes = whole.node[component.origin].tolist()
    parents = [frozenset(whole.parents(int(f))) for f in component.origin]
    place = {key: f for f, key in enumerate(zip(nodes, parents, strict=True))}
    start, families = [0], []
    for b, P in zip(nodes, parents, strict=True):
        pairs = [place.get((a, P - {a})) for a in sorted(P) if a > b]
        families += [f for f in pairs if f is not None]
        start.append(len(families))
    return Barred(np.array(start, dtype=np.int64), np.array(families, dtype=np.int32))


class _Finder:
    """Lists one component in pieces and keeps one member per class."""

    def __init__(
        self, component: Component, part: Diagram | Listed, credible: CredibleSet, limits: Limits
    ) -> None:
        whole = credible.candidates.families
        self.bits = np.ascontiguousarray(whole.bits[component.origin])
        self.nodes = component.nodes.astype(np.int64)
        self.node = self.nodes[component.families.node]
        self.part, self.budget, self.limits = part, credible.budget, limits

    def dags(self) -> tuple[Ints32, Floats, Ints]:
        """Every DAG: rows, excesses, sizes of their classes."""
        _require_listable(self.part.profile.within(self.budget), LISTED_DAGS)
        pieces = list(self.part.listing(self.budget, CHUNK))
        rows = np.concatenate([rows for rows, _ in pieces])
        _, group, sizes = np.unique(
            self._keys(rows, shielded=False), axis=0, return_inverse=True, return_counts=True
        )
        excess = np.concatenate([excess for _, excess in pieces])
        return rows, excess, sizes[group.ravel()]

    def _keys(self, rows: Ints32, *, shielded: bool) -> Bits:
        keys: Bits = class_keys(rows, self.nodes, self.node, self.bits, shielded)
        return keys

    def classes(self, *, barred: Barred | None = None, shielded: bool = False) -> ComponentClasses:
        """The classes, or with `shielded` the paper's finer ones."""
        found = _Merged(len(self.nodes), self.limits)
        for rows, excess in self.part.listing(self.budget, CHUNK, barred=barred):
            self.limits.require_time()
            found.add(self._keys(rows, shielded=shielded), rows, excess)
        found.merge()
        value = self.part.profile.value
        place = np.searchsorted(value, found.excess + 2e-10, side="right") - 1
        order = np.lexsort((*found.rows.T[::-1], place))
        members = None if barred is not None else found.members[order]
        return ComponentClasses(found.rows[order], value[place[order]], members)


def _require_listable(size: int, max_size: int) -> None:
    if size > max_size:
        raise DiagramLimit(f"{size} graphs of one component would be listed, more than {max_size}")


class _Merged:
    """Classes met so far: key, first member in order of its families, excess, members.

    New DAGs wait until they are as many as the classes, then all are merged.
    """

    def __init__(self, m: int, limits: Limits) -> None:
        self.limits = limits
        self.keys = np.zeros((0, 2), dtype=np.uint64)
        self.rows = np.zeros((0, m), dtype=np.int32)
        self.excess = np.zeros(0)
        self.members = np.zeros(0, dtype=np.int64)
        self.waiting: list[tuple[Bits, Ints32, Floats]] = []

    def add(self, keys: Bits, rows: Ints32, excess: Floats) -> None:
        """Take more DAGs in."""
        self.waiting.append((keys, rows, excess))
        waiting = sum(len(rows) for _, rows, _ in self.waiting)
        need = 3 * (waiting + len(self.rows)) * (4 * self.rows.shape[1] + 40)
        if waiting >= len(self.rows) or need > self.limits.memory:
            self.merge()
        if 6 * len(self.rows) * (4 * self.rows.shape[1] + 40) > self.limits.memory:
            raise DiagramLimit(
                f"a component has more than {len(self.rows)} classes, which "
                f"{self.limits.memory >> 20} MiB do not hold"
            )

    def merge(self) -> None:
        """One entry per key."""
        keys = np.concatenate([self.keys, *(keys for keys, _, _ in self.waiting)])
        rows = np.concatenate([self.rows, *(rows for _, rows, _ in self.waiting)])
        excess = np.concatenate([self.excess, *(excess for _, _, excess in self.waiting)])
        new = np.ones(len(keys) - len(self.members), dtype=np.int64)
        members = np.concatenate([self.members, new])
        self.waiting = []
        if not len(keys):
            return
        order = np.lexsort((keys[:, 1], keys[:, 0]))
        ordered = keys[order]
        changed = np.concatenate(([True], (ordered[1:] != ordered[:-1]).any(axis=1)))
        first = np.flatnonzero(changed)
        self.keys, self.rows = ordered[first], rows[order[first]]
        self.excess = np.minimum.reduceat(excess[order], first)
        self.members = np.add.reduceat(members[order], first)
