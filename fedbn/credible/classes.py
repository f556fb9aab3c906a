"""Markov equivalence classes of the credible DAGs: how many, one member of each, how large.

Two DAGs are equivalent iff they have the same skeleton and the same v-structures (Verma & Pearl).
Edges between components of the candidates' graph all point one way, so a class is a combination
of classes per component: the colliders of a node whose parents both lie outside its component
follow from the skeleton. Classes are therefore found per component and counted under the budget.

The paper's |M| counts distinct (skeleton, all colliders, shielded ones too), which is finer than
equivalence: `coarse_count` reproduces it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fedbn.credible.diagram import Diagram, DiagramLimit, Profile
from fedbn.credible.enumerate import CredibleSet, combined, ordered_sums
from fedbn.credible.filter import Component
from fedbn.graphs.dag import DAG

__all__ = ["CredibleClass", "MarkovClasses", "markov_classes"]

CHUNK = 200_000


@dataclass(frozen=True)
class CredibleClass:
    """One equivalence class: a member, its excess, and how many members are credible."""

    dag: DAG
    excess: float
    members: int


@dataclass(frozen=True, eq=False)
class ComponentClasses:
    """The classes of one component by ascending excess.

    rows [K, m] families of one member (the first in order), excess [K], members [K].
    """

    rows: NDArray[np.int32]
    excess: NDArray[np.float64]
    members: NDArray[np.int64]

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
        return sum(combined(profiles, self.credible.budget).count)

    @cached_property
    def coarse_count(self) -> int:
        """The paper's |M|: distinct skeletons with all their colliders."""
        credible = self.credible
        profiles = [
            _component_classes(component, diagram, credible, shielded=True).profile()
            for component, diagram in zip(credible.components, credible.diagrams, strict=True)
        ]
        return sum(combined(profiles, credible.budget).count)

    def __iter__(self) -> Iterator[CredibleClass]:
        """Classes by ascending cost."""
        lists = [part.excess.tolist() for part in self.parts]
        for places, excess in ordered_sums(lists, self.credible.budget):
            rows = [part.rows[at] for part, at in zip(self.parts, places, strict=True)]
            members = 1
            for part, at in zip(self.parts, places, strict=True):
                members *= int(part.members[at])
            yield CredibleClass(self.credible.dag_of(rows), excess, members)


def markov_classes(credible: CredibleSet, *, most: int = 200_000_000) -> MarkovClasses:
    """The equivalence classes of a credible set.

    Parameters
    ----------
    credible : the set; its components are listed one by one, never their product.
    most : components with more DAGs than this are refused.

    Raises
    ------
    DiagramLimit : a component is too large to be listed.
    """
    pairs = zip(credible.components, credible.diagrams, strict=True)
    for diagram in credible.diagrams:
        size = diagram.profile.within(credible.budget)
        if size > most:
            raise DiagramLimit(
                f"classes need a list of each component; one has {size} DAGs, more than {most}"
            )
    return MarkovClasses(
        credible,
        tuple(
            _component_classes(component, diagram, credible, shielded=False)
            for component, diagram in pairs
        ),
    )


def _component_classes(
    component: Component, diagram: Diagram, credible: CredibleSet, *, shielded: bool
) -> ComponentClasses:
    """List the component in pieces and keep one member per class."""
    from fedbn.credible._class_kernels import class_keys

    whole = credible.candidates.families
    bits = np.ascontiguousarray(whole.bits[component.origin])
    parents = whole.has_parent[component.origin]
    start = np.concatenate(([0], np.cumsum(parents.sum(axis=1)))).astype(np.int64)
    members = np.nonzero(parents)[1].astype(np.int32)
    nodes = component.nodes.astype(np.int64)
    found = _Merged(len(nodes))
    for rows, excess in diagram.listing(credible.budget, CHUNK):
        keys = class_keys(rows, nodes, bits, start, members, shielded)
        found.add(keys, rows, excess, np.ones(len(rows), dtype=np.int64))
    value = diagram.profile.value
    place = np.searchsorted(value, found.excess + 2e-10, side="right") - 1
    order = np.lexsort((*found.rows.T[::-1], place))
    return ComponentClasses(found.rows[order], value[place[order]], found.members[order])


class _Merged:
    """Classes met so far: key, first member in order of its families, excess, members."""

    def __init__(self, m: int) -> None:
        self.keys = np.zeros((0, 2), dtype=np.uint64)
        self.rows = np.zeros((0, m), dtype=np.int32)
        self.excess = np.zeros(0)
        self.members = np.zeros(0, dtype=np.int64)

    def add(
        self,
        keys: NDArray[np.uint64],
        rows: NDArray[np.int32],
        excess: NDArray[np.float64],
        members: NDArray[np.int64],
    ) -> None:
        """Merge more DAGs in."""
        keys = np.concatenate([self.keys, keys])
        rows = np.concatenate([self.rows, rows])
        excess = np.concatenate([self.excess, excess])
        members = np.concatenate([self.members, members])
        order = np.lexsort((keys[:, 1], keys[:, 0]))
        ordered = keys[order]
        new = np.concatenate(([True], (ordered[1:] != ordered[:-1]).any(axis=1)))
        first = np.flatnonzero(new)
        self.keys, self.rows = ordered[first], rows[order][first]
        self.excess = np.minimum.reduceat(excess[order], first)
        self.members = np.add.reduceat(members[order], first)
