"""Networks of numbers and categories at random, and the tables that they sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from fedbn.arrays import Floats
from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema, Variable
from fedbn.graphs.dag import DAG

Mechanism = Literal["linear", "even", "product"]

MOST_STATES = 4
WEAKEST, STRONGEST = 0.75, 1.5
"""Range of the absolute value of an effect, in standard deviations or in logits."""

BETWEEN_CATEGORIES = 1.5
"""Standard deviation of the logits of a category's states given another category's."""


@dataclass(frozen=True)
class MixedNetwork:
    """A DAG with a mechanism for every variable: linear with normal noise, or logistic.

    Attributes
    ----------
    dag : names sorted.
    states : of each variable; 0 for a number.
    effects : (parent, child) -> [1 or states of the parent, 1 or states of the child]: what one
        unit of a number, or each state of a category, adds to the number or to the logits.
    mechanism : "linear": effects add up. "even": a category depends on how far a number is from 0,
        not on its sign. "product": of the first two parents only the product of their effects
        counts.
    """

    dag: DAG
    states: tuple[int, ...]
    effects: dict[tuple[int, int], Floats]
    mechanism: Mechanism

    @property
    def schema(self) -> Schema:
        """The columns, each a number or a category."""
        return Schema(
            tuple(
                Variable(name, tuple(map(str, range(size)))) if size else Variable(name)
                for name, size in zip(self.dag.names, self.states, strict=True)
            )
        )

    def sample(self, rows: int, rng: np.random.Generator) -> Dataset:
        """Rows drawn independently."""
        table = np.zeros((rows, self.dag.n))
        for child in self.dag.topological_order():
            signal = self._signal(child, table)
            if self.states[child]:
                logits = signal + rng.gumbel(size=(rows, self.states[child]))
                table[:, child] = logits.argmax(axis=1)
            else:
                noisy = signal[:, 0] + rng.normal(size=rows)
                table[:, child] = noisy / self._spread(child)
        return Dataset(self.schema, table)

    def _signal(self, child: int, table: Floats) -> Floats:
        """What the parents add, [rows, 1 or states of the child]."""
        parts = [self._part(parent, child, table) for parent in self.dag.parents(child)]
        if self.mechanism == "product" and len(parts) > 1:
            parts = [parts[0] * parts[1], *parts[2:]]
        return sum(parts, np.zeros((len(table), max(1, self.states[child]))))

    def _part(self, parent: int, child: int, table: Floats) -> Floats:
        effect, column = self.effects[parent, child], table[:, parent]
        if self.states[parent]:
            return effect[column.astype(np.intp)]
        if self.mechanism == "even" and self.states[child]:
            column = np.abs(column) - np.sqrt(2.0 / np.pi)
        return column[:, None] * effect

    def _spread(self, child: int) -> float:
        """About the standard deviation of a number before it is divided by it."""
        effects = (self.effects[parent, child] for parent in self.dag.parents(child))
        return float(np.sqrt(1.0 + sum(float(np.mean(effect**2)) for effect in effects)))


def random_mixed_network(dag: DAG, mechanism: Mechanism, rng: np.random.Generator) -> MixedNetwork:
    """Half of the variables, drawn at random, are categories of 2 to 4 states.

    An effect's size is drawn uniformly from WEAKEST to STRONGEST, its sign or the order of the
    states at random; between two categories the logits are normal.
    """
    dag = dag.reorder(sorted(dag.names))
    states = np.zeros(dag.n, dtype=np.intp)
    chosen = rng.permutation(dag.n)[: dag.n // 2]
    states[chosen] = rng.integers(2, MOST_STATES, size=len(chosen), endpoint=True)
    effects = {
        (parent, child): _effect(int(states[parent]), int(states[child]), rng)
        for child in range(dag.n)
        for parent in dag.parents(child)
    }
    return MixedNetwork(dag, tuple(states.tolist()), effects, mechanism)


def _effect(parent: int, child: int, rng: np.random.Generator) -> Floats:
    if parent and child:
        return rng.normal(scale=BETWEEN_CATEGORIES, size=(parent, child))
    size = rng.uniform(WEAKEST, STRONGEST)
    if not (parent or child):
        return np.array([[size * rng.choice([-1.0, 1.0])]])
    spread = size * rng.permutation(np.linspace(-1.0, 1.0, parent or child))
    return spread[:, None] if parent else spread[None, :]
