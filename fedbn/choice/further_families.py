"""Families that are asked for beside those of the candidates.

A fusion joins and directs otherwise than the sites, so it often lacks a family that all rows
together support. And where hostile sites lead its paths away, nobody would be asked for the
families of what the honest sites would choose. Two sources have them:

* *what sites sent*, as far as the server has seen it;
* *votes*: how many sites join two variables, and how. Only they are known under secure sums.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import combinations

from fedbn.consensus.votes import Votes
from fedbn.fusion.inputs import MergedInputs
from fedbn.networks.family_counts import Family, families_of

LIKELY_PARENTS = 6
"""The parents of a variable that voted families are made of: those with the largest shares."""

VOTED_PARENTS = 4
"""The maximum number of parents of a voted family."""

SURE = 0.95
"""A share is taken to be at most this: votes are no proof."""


def sent_families(classes: Iterable[MergedInputs]) -> list[Family]:
    """The families of what the sites sent, first those that most of them have, by weight and the
    mean of the classes; ties in the order of the families."""
    shares = defaultdict[Family, Fraction](Fraction)
    for inputs in classes:
        weights = Counter[Family]()
        for dag, weight in zip(inputs.dags, inputs.weights, strict=True):
            weights.update(dict.fromkeys(families_of([dag]), weight))
        for family, weight in weights.items():
            shares[family] += Fraction(weight, inputs.total)
    return sorted(shares, key=lambda family: (-shares[family], family))


def voted_families(classes: Iterable[Votes]) -> list[Family]:
    """Families made of the likely parents of each variable, the likeliest families first.

    A variable is another's parent in the share of the sites whose CPDAG has the edge, directed that
    way or not at all. A family is as likely as if parents were drawn independently, each with its
    share, and as likely as the class says in which it is likeliest; ties in the order of the
    families.
    """
    likely: dict[Family, float] = {}
    for votes in classes:
        for node, shares in _shares_of_parents(votes).items():
            for family, probability in _families_of(node, shares):
                likely[family] = max(likely.get(family, 0.0), probability)
    return sorted(likely, key=lambda family: (-likely[family], family))


def _shares_of_parents(votes: Votes) -> dict[int, dict[int, float]]:
    """Variable -> those that some site may have as its parent, and the share of these sites."""
    found = defaultdict[int, dict[int, float]](dict)
    forward, backward, undirected = votes.classes.tolist()
    possible = votes.possible.tolist()
    for place, (a, b) in enumerate(votes.pairs.tolist()):
        for parent, node, directed in ((a, b, forward), (b, a, backward)):
            if joined := directed[place] + undirected[place]:
                found[node][parent] = min(joined / possible[place], SURE)
    return found


def _families_of(node: int, shares: dict[int, float]) -> Iterator[tuple[Family, float]]:
    """The families of the likeliest parents, and how likely they are."""
    parents = sorted(shares, key=lambda parent: (-shares[parent], parent))[:LIKELY_PARENTS]
    none = math.prod(1.0 - shares[parent] for parent in sorted(shares))
    odds = {parent: shares[parent] / (1.0 - shares[parent]) for parent in parents}
    for size in range(1, VOTED_PARENTS + 1):
        for chosen in combinations(sorted(parents), size):
            yield Family(node, chosen), none * math.prod(odds[parent] for parent in chosen)
