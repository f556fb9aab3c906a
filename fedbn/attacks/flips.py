"""How often one row changes what leaves: the strong membership game.

The adversary knows all rows but one and runs the learner with and without it. Against a learner
without noise of its own, its advantage is exactly the share of rows whose removal changes the
message.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedbn.attacks.samples import Learn, Share, Structures, without_row
from fedbn.data.dataset import Dataset
from fedbn.errors import ConfigError
from fedbn.graphs.distances import smhd
from fedbn.graphs.pdag import dag_to_cpdag


@dataclass(frozen=True)
class FlipRate:
    """What removals of one row changed.

    Attributes
    ----------
    classes : removals after which the set of equivalence classes was another.
    messages : removals after which classes or weights were others; the weights to all digits.
    mean_change, largest_change : changed edges of the moral graph of the first DAG.
    """

    classes: Share
    messages: Share
    mean_change: float
    largest_change: int


def flip_rate(
    dataset: Dataset, learn: Learn, rng: np.random.Generator, removals: int = 400
) -> FlipRate:
    """Remove rows drawn without replacement, one at a time, and learn anew.

    Parameters
    ----------
    dataset : at least two rows.
    learn : called with the same randomness for every table, so that only the row counts.
    rng : draws the rows.
    removals : at most the number of rows.

    Raises
    ------
    ConfigError : there are fewer rows than removals, or fewer than two.
    """
    if not 1 <= removals <= dataset.n_rows or dataset.n_rows < 2:
        raise ConfigError(f"{removals} removals need as many rows, not {dataset.n_rows}")
    rows = rng.choice(dataset.n_rows, size=removals, replace=False)
    return flips_of(dataset, [without_row(dataset, int(row)) for row in rows], learn, rng)


def flips_of(
    dataset: Dataset, neighbours: list[Dataset], learn: Learn, rng: np.random.Generator
) -> FlipRate:
    """The flip rate over given neighbours of a table."""
    seed = int(rng.integers(1 << 62))
    before = learn(dataset, np.random.default_rng(seed))
    classes = messages = 0
    changes = []
    for neighbour in neighbours:
        after = learn(neighbour, np.random.default_rng(seed))
        other = _classes(after) != _classes(before)
        classes += other
        messages += other or sorted(after[1]) != sorted(before[1])
        changes.append(smhd(before[0][0], after[0][0]))
    return FlipRate(
        classes=Share.of_trials(classes, len(neighbours)),
        messages=Share.of_trials(messages, len(neighbours)),
        mean_change=float(np.mean(changes)),
        largest_change=max(changes),
    )


def canary(dataset: Dataset) -> np.ndarray:
    """A row that stands out, [n]: of categories the rarest state of every column, of numbers one
    that lies as far above the largest as the column is wide.

    States that no row has are rarest of all; ties go to the first.
    """
    if dataset.kind == "gaussian":
        highest = dataset.values.max(axis=0)
        return np.asarray(highest + np.ptp(dataset.values, axis=0))
    sizes = dataset.cardinalities.tolist()
    return np.array(
        [
            int(np.bincount(dataset.codes[:, column], minlength=size).argmin())
            for column, size in enumerate(sizes)
        ],
        dtype=np.int32,
    )


def _classes(structures: Structures) -> frozenset[bytes]:
    """The equivalence classes, each as the bytes of its CPDAG."""
    return frozenset(dag_to_cpdag(dag).adjacency.tobytes() for dag in structures[0])
