"""Who may say something of a pair of variables, where sites have different ones.

A site can say whether S separates x and y if it has x, y and all of S. Where fewer than
`min_judges` sites have all of S, those with one variable of it less judge, too, and so on. Of a
pair that no site has both variables of nobody can say anything: it is not known, which is not the
same as absent.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fedbn.arrays import Bools, Ints
from fedbn.consensus.path import McbncPath, Step
from fedbn.fusion.inputs import MergedInputs


@dataclass(frozen=True)
class Judges:
    """Who judged a deletion, in numbers of sites.

    Attributes
    ----------
    seeing : sites that have x and y.
    judging : those of them that judged.
    lacking : how many variables of S the judges with the fewest of them lack; 0: none.
    """

    seeing: int
    judging: int
    lacking: int


def judges_of(path: McbncPath) -> Iterator[tuple[Step, Judges]]:
    """Every deletion with its judges; of inputs over the same variables all sites are judges."""
    place = {name: v for v, name in enumerate(path.names)}
    seen, counts = _seen(path.inputs)
    for step in path.steps:
        given = [place[name] for name in step.given]
        both = seen[:, place[step.x]] & seen[:, place[step.y]]
        sees = seen[:, given].sum(axis=1)
        least = len(given)
        while least > 0 and counts[both & (sees >= least)].sum() < path.min_judges:
            least -= 1
        judging = int(counts[both & (sees >= least)].sum())
        yield step, Judges(int(counts[both].sum()), judging, len(given) - least)


def never_together(inputs: MergedInputs) -> tuple[tuple[str, str], ...]:
    """The pairs of names, sorted, of which no input observes both."""
    apart = np.triu(inputs.seen == 0, k=1)
    return tuple((inputs.names[a], inputs.names[b]) for a, b in np.argwhere(apart))


def variables_of_one(inputs: MergedInputs) -> tuple[str, ...]:
    """The names of which a single site has the variable, where there are several sites."""
    seen, counts = _seen(inputs)
    having = counts @ seen.astype(np.int64)
    if counts.sum() < 2:
        return ()
    return tuple(name for name, many in zip(inputs.names, having, strict=True) if many == 1)


def _seen(inputs: MergedInputs) -> tuple[Bools, Ints]:
    """Which variables every input observes, and its `MergedInputs.site_counts`."""
    if inputs.observed is None or inputs.site_counts is None:
        whole = np.ones((len(inputs.members), len(inputs.names)), dtype=np.bool_)
        return whole, inputs.counts
    return inputs.observed, inputs.site_counts
