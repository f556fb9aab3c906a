"""Posterior marginals and the most probable explanation of one network, exactly.

Variables without influence on question and evidence (barren ones: neither asked nor observed, nor
an ancestor of such) are left out, observed ones are sliced off, the rest is variable elimination
(`fedbn.inference.elimination`). Answers are equal to the last bit on one machine.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fedbn.data.cuts import interval_of
from fedbn.errors import ImpossibleEvidenceError, QueryError, did_you_mean
from fedbn.graphs.dag import DAG
from fedbn.graphs.moral import ancestral_set
from fedbn.inference.elimination import MAX_CELLS, BucketTree, Factor, plan
from fedbn.networks.network import BayesianNetwork
from fedbn.wording import list_some

SHOWN = 10
"""How many variables or states an error lists."""


@dataclass(frozen=True)
class Answer:
    """What a network says.

    Attributes
    ----------
    posteriors : variable -> state -> probability given the evidence.
    log_evidence : natural logarithm of the probability of the evidence.
    """

    posteriors: Mapping[str, Mapping[str, float]]
    log_evidence: float


@dataclass(frozen=True)
class Explanation:
    """The most probable configuration of all variables that are not observed.

    Attributes
    ----------
    states : variable -> state.
    log_probability : natural logarithm of the probability of these states given the evidence.
    """

    states: Mapping[str, str]
    log_probability: float


def query(
    network: BayesianNetwork,
    ask: Sequence[str] | None = None,
    given: Mapping[str, str] | None = None,
    *,
    max_cells: int = MAX_CELLS,
) -> Answer:
    """The posterior marginal of every variable asked for.

    Parameters
    ----------
    network : with its tables.
    ask : variables; None for all that are not observed.
    given : observed variable -> state, or of a column that was cut a number, which stands for its
        interval.
    max_cells : cells that all tables of the elimination may have together.

    Raises
    ------
    QueryError : a variable or state is unknown, the evidence has probability 0
        (ImpossibleEvidenceError), or the tables would be too large.

    Examples
    --------
    >>> from fedbn.networks.catalog import load_network
    >>> answer = query(load_network("asia"), ["lung"], {"smoke": "yes"})
    >>> answer.posteriors["lung"]
    {'no': 0.9, 'yes': 0.1}
    """
    evidence = observed_codes(network, given or {})
    asked = asked_nodes(network.names, ask, evidence)
    tree, free = _eliminate(network, asked, evidence, max_cells)
    found = tree.marginals(node for node in asked if node in free)
    posteriors = {}
    for node in asked:
        states = network.schema.states[node]
        if node in found:
            probabilities = found[node].tolist()
        else:
            probabilities = np.eye(len(states))[evidence.get(node, 0)].tolist()
        posteriors[network.names[node]] = dict(zip(states, probabilities, strict=True))
    return Answer(posteriors, tree.log_total)


def most_probable(
    network: BayesianNetwork,
    given: Mapping[str, str] | None = None,
    *,
    max_cells: int = MAX_CELLS,
) -> Explanation:
    """The most probable states of all that is not observed, jointly.

    Of configurations that are equally probable one is returned, always the same.

    Parameters
    ----------
    network, given, max_cells : as for `query`.

    Raises
    ------
    QueryError : as for `query`.
    """
    evidence = observed_codes(network, given or {})
    everything = list(range(network.dag.n))
    total, _ = _eliminate(network, everything, evidence, max_cells)
    tree, _ = _eliminate(network, everything, evidence, max_cells, maximise=True)
    codes = {node: 0 for node in everything if node not in evidence} | tree.best_states()
    states = {network.names[node]: network.schema.states[node][codes[node]] for node in codes}
    return Explanation(dict(sorted(states.items())), tree.log_total - total.log_total)


def observed_codes(network: BayesianNetwork, given: Mapping[str, str]) -> dict[int, int]:
    """Node -> code of the evidence; raises QueryError for an unknown variable or state."""
    codes = {}
    for name, state in given.items():
        node = node_named(network.names, name)
        codes[node] = code_of_state(name, network.schema.states[node], state)
    return codes


def code_of_state(name: str, states: Sequence[str], told: str) -> int:
    """The code of a state of a variable, or of the interval that a number lies in; raises
    QueryError where there is none."""
    meant = _interval(states, told) or told
    if meant not in states:
        raise QueryError(
            f"variable {name!r} has no state {told!r}; its states are "
            f"{list_some(states, SHOWN)}{did_you_mean(str(told), states)}"
        )
    return list(states).index(meant)


def interval_meant(network: BayesianNetwork, name: str, given: str) -> str | None:
    """The state that a number stands for: the interval that has it, of a column that was cut; None
    where the text is a state itself, is no number, or there is no such column."""
    if name not in network.names:
        return None
    return _interval(network.schema.states[network.names.index(name)], given)


def _interval(states: Sequence[str], given: str) -> str | None:
    """The interval among these states that has this number, if it is one and no state itself."""
    try:
        return None if given in states else interval_of(states, float(given))
    except (TypeError, ValueError):
        return None


def _eliminate(
    network: BayesianNetwork,
    asked: Iterable[int],
    evidence: Mapping[int, int],
    max_cells: int,
    *,
    maximise: bool = False,
) -> tuple[BucketTree, set[int]]:
    """The tables after elimination, and the variables that they have."""
    relevant = with_ancestors(network.dag, {*asked, *evidence})
    sizes = network.schema.cardinalities
    known = {node: 0 for node in relevant if sizes[node] == 1} | dict(evidence)
    free = {node: int(sizes[node]) for node in sorted(relevant) if node not in known}
    factors = [_factor(network, node, known) for node in sorted(relevant)]
    steps = plan([factor.variables for factor in factors], free)
    steps.require_within(max_cells)
    tree = BucketTree(steps, factors, maximise=maximise)
    if tree.log_total == -math.inf:
        raise ImpossibleEvidenceError(
            f"the evidence {_said(network, evidence)} has probability 0 under this network"
        )
    return tree, set(free)


def with_ancestors(dag: DAG, nodes: set[int]) -> set[int]:
    """The nodes and all their ancestors."""
    return set(np.flatnonzero(ancestral_set(dag, nodes)).tolist())


def _factor(network: BayesianNetwork, node: int, known: Mapping[int, int]) -> Factor:
    """P(node | parents) with what is known sliced off."""
    family = (*network.dag.parents(node), node)
    cube = network.cpts[node].reshape([network.schema.cardinalities[i] for i in family])
    where = tuple(known.get(i, slice(None)) for i in family)
    return Factor(tuple(i for i in family if i not in known), np.asarray(cube[where]))


def _said(network: BayesianNetwork, evidence: Mapping[int, int]) -> str:
    observed = [
        f"{network.names[node]}={network.schema.states[node][code]}"
        for node, code in sorted(evidence.items())
    ]
    more = f" and {len(observed) - SHOWN} more" if len(observed) > SHOWN else ""
    return ", ".join(observed[:SHOWN]) + more


def node_named(names: Sequence[str], name: str) -> int:
    """The variable's index; raises QueryError for an unknown one."""
    if name not in names:
        raise QueryError(
            f"the network has no variable {name!r}; it has "
            f"{list_some(names, SHOWN)}{did_you_mean(name, names)}"
        )
    return names.index(name)


def asked_nodes(
    names: Sequence[str], ask: Sequence[str] | None, observed: Container[int]
) -> list[int]:
    """The variables asked for, or all that are not observed; raises as `node_named`."""
    if ask is None:
        return [node for node in range(len(names)) if node not in observed]
    return [node_named(names, name) for name in ask]


def observed_number(name: str, told: object) -> float:
    """The observed value of a number; raises QueryError for what is no finite number."""
    try:
        number = float(told)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise QueryError(f"the observed value of {name!r} must be a finite number, not {told!r}")
    return number
