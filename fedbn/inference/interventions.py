"""What happens when variables are set, not observed: Pearl's do, on a DAG and over its class.

Setting x cuts the arrows into it (Pearl 2009, 3.2.3); what is observed afterwards counts as
evidence in the network so cut. That takes every arrow for cause and effect. The equivalence class
says less: its members answer differently, and all that rows without experiments can tell is the
range of their answers. One member for every set of parents of x gives that range exactly
(`fedbn.graphs.members`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from fedbn.errors import ImpossibleEvidenceError, QueryError
from fedbn.graphs.dag import DAG
from fedbn.graphs.members import members_by_parents
from fedbn.graphs.pdag import PDAG, dag_to_cpdag
from fedbn.inference.conditional import QUANTILE_KEYS, query_conditional
from fedbn.inference.elimination import MAX_CELLS
from fedbn.inference.gaussian import query_gaussian
from fedbn.inference.queries import (
    code_of_state,
    node_named,
    observed_codes,
    query,
    with_ancestors,
)
from fedbn.networks.conditional_gaussian import (
    ConditionalGaussianNetwork,
    Network,
    Regressions,
)
from fedbn.networks.linear_gaussian import LinearGaussianNetwork
from fedbn.networks.network import BayesianNetwork
from fedbn.networks.rewriting import rewrite, rewrite_equations

Values: TypeAlias = Mapping[str, str] | Mapping[str, float]
Numbers: TypeAlias = Mapping[str, Mapping[str, float]]

UNIT_DENSITY = 1 / math.sqrt(2 * math.pi)
"""The standard deviation of a normal whose density at its mean is 1."""


@dataclass(frozen=True)
class EffectRange:
    """What an equivalence class says of an intervention.

    Attributes
    ----------
    written : variable -> state or quantity -> number, of the DAG as it is written.
    least, greatest : the same over all members.
    parent_sets : how many sets of parents members give the variables that are set.
    """

    written: Numbers
    least: Numbers
    greatest: Numbers
    parent_sets: int


def set_in(network: Network, do: Values) -> Network:
    """The network with the arrows into the variables that are set cut, and these at their values.

    Parameters
    ----------
    do : variable -> state, or finite number of one that is a number.

    Raises
    ------
    QueryError : a variable or state is unknown, or a value is no finite number.
    """
    nodes = [node_named(network.names, name) for name in do]
    adjacency = network.dag.adjacency.copy()
    adjacency[:, nodes] = False
    dag = DAG(network.dag.names, adjacency)
    if isinstance(network, BayesianNetwork):
        codes = observed_codes(network, {name: str(state) for name, state in do.items()})
        cpts = list(network.cpts)
        for node, code in codes.items():
            cpts[node] = np.eye(len(network.schema.states[node]))[[code]]
        return BayesianNetwork(dag, network.schema, tuple(cpts))
    if isinstance(network, ConditionalGaussianNetwork):
        parameters = list(network.parameters)
        for node, (name, value) in zip(nodes, do.items(), strict=True):
            states = network.schema.variables[node].states
            if states is None:
                parameters[node] = Regressions(
                    np.zeros((1, 0)), np.array([_finite(name, value)]), np.array([UNIT_DENSITY])
                )
            else:
                parameters[node] = np.eye(len(states))[[code_of_state(name, states, str(value))]]
        return ConditionalGaussianNetwork(dag, network.schema, tuple(parameters))
    intercepts, deviations = network.intercepts.copy(), network.standard_deviations.copy()
    for node, (name, value) in zip(nodes, do.items(), strict=True):
        intercepts[node], deviations[node] = _finite(name, value), UNIT_DENSITY
    return LinearGaussianNetwork(
        dag, np.where(adjacency, network.coefficients, 0.0), intercepts, deviations
    )


def query_do(
    network: Network,
    ask: Sequence[str] | None,
    do: Values,
    given: Values | None = None,
    *,
    max_cells: int = MAX_CELLS,
) -> Numbers:
    """The posterior of every variable asked for after setting some and then observing others.

    Parameters
    ----------
    network : every arrow of it is taken for cause and effect.
    ask : variables; None for all that are neither set nor observed.
    do : variable that is set -> state or number.
    given : variable that is observed afterwards -> state or number.

    Returns
    -------
    variable -> state -> probability; of a linear-Gaussian network, quantity -> number.

    Raises
    ------
    QueryError : as for `query`, or a variable is both set and observed.

    Examples
    --------
    >>> from fedbn.networks.catalog import load_network
    >>> asia = load_network("asia")
    >>> query_do(asia, ["smoke"], {"lung": "yes"})["smoke"]
    {'no': 0.5, 'yes': 0.5}
    """
    observed = {**(given or {})}
    for name in do:
        if name in observed:
            raise QueryError(
                f"{name!r} cannot be both set, to {do[name]!r}, and observed, as {observed[name]!r}"
            )
    cut = set_in(network, do)
    if isinstance(cut, BayesianNetwork):
        codes = {name: str(state) for name, state in {**observed, **do}.items()}
        return query(cut, ask, codes, max_cells=max_cells).posteriors
    if isinstance(cut, ConditionalGaussianNetwork):
        values = {name: str(value) for name, value in {**observed, **do}.items()}
        return query_conditional(cut, ask, values, max_cells=max_cells).posteriors
    numbers = {name: _finite(name, value) for name, value in {**observed, **do}.items()}
    return query_gaussian(cut, ask, numbers, max_cells=max_cells).posteriors


def effect_between(answer: Numbers, other: Numbers) -> Numbers:
    """How far an answer is from another one, variable by variable.

    Returns
    -------
    The average effect, {"effect": difference of means}, of a linear-Gaussian variable and of one
    whose states are numbers; of another one the difference of every state's probability.

    >>> effect_between({"y": {"0": 0.2, "1": 0.8}}, {"y": {"0": 0.5, "1": 0.5}})
    {'y': {'effect': 0.30000000000000004}}
    """
    return {name: _effect(numbers, other[name]) for name, numbers in answer.items()}


def _effect(one: Mapping[str, float], other: Mapping[str, float]) -> dict[str, float]:
    if one.keys() in ({"mean", "variance"}, {"mean", "variance", *QUANTILE_KEYS}):
        return {"effect": one["mean"] - other["mean"]}
    values = {state: _number_of(state) for state in one}
    if all(value is not None for value in values.values()):
        return {"effect": math.fsum((values[s] or 0.0) * (one[s] - other[s]) for s in one)}
    return {state: one[state] - other[state] for state in one}


def range_over_class(
    network: Network,
    ask: Sequence[str] | None,
    do: Values,
    given: Values | None = None,
    *,
    versus: Values | None = None,
    pattern: PDAG | None = None,
    max_cells: int = MAX_CELLS,
) -> EffectRange:
    """The answers of all members of the network's class, from the least to the greatest.

    Parameters
    ----------
    ask, do, given, max_cells : as for `query_do`.
    versus : other values of the same variables; the numbers are then those of `effect_between`.
    pattern : the class if knowledge determines more of its directions than its CPDAG has.

    Raises
    ------
    QueryError : as for `query_do`; or the distribution has zeros that leave the answer of a member
        open, which names the variable.
    StructureError : the class gives the variables that are set too many sets of parents.
    """
    if isinstance(network, ConditionalGaussianNetwork):
        raise QueryError(
            "the range over the equivalence class is for networks of categories alone or of "
            "numbers alone"
        )
    nodes = [node_named(network.names, name) for name in do]
    members = members_by_parents(pattern or dag_to_cpdag(network.dag), nodes)

    def answer(each: Network) -> Numbers:
        found = query_do(each, ask, do, given, max_cells=max_cells)
        if versus is None:
            return found
        return effect_between(found, query_do(each, ask, versus, given, max_cells=max_cells))

    written = answer(network)
    needed = {*written, *(given or {})}
    try:
        found = [answer(_on_member(network, member, needed, do)) for member in members]
    except ImpossibleEvidenceError as error:
        raise ImpossibleEvidenceError(f"{error}, in a member of its class") from None
    return EffectRange(
        written, _each(min, written, found), _each(max, written, found), len(members)
    )


def _each(
    choose: Callable[[Iterable[float]], float], written: Numbers, found: Sequence[Numbers]
) -> Numbers:
    return {
        name: {key: choose(answer[name][key] for answer in found) for key in numbers}
        for name, numbers in written.items()
    }


def _on_member(
    network: BayesianNetwork | LinearGaussianNetwork, member: DAG, needed: Iterable[str], do: Values
) -> Network:
    """The network's distribution on a member, if it says enough for a question after `do`."""
    if isinstance(network, LinearGaussianNetwork):
        return rewrite_equations(network, member)
    found, undefined = rewrite(network, member)
    names = found.names
    cut = member.adjacency.copy()
    cut[:, [names.index(name) for name in do]] = False
    concerned = with_ancestors(DAG(names, cut), {names.index(name) for name in needed})
    for node in sorted(concerned):
        if names[node] in undefined and names[node] not in do:
            raise QueryError(
                f"probabilities of 0 leave the answer open over the class: the table of "
                f"{names[node]!r} is not determined in a member where it has the parents "
                f"{', '.join(repr(names[p]) for p in member.parents(node))}"
            )
    return found


def _finite(name: str, value: object) -> float:
    number = _number_of(str(value))
    if number is None:
        raise QueryError(f"{name!r} is a number in this network, not {value!r}")
    return number


def _number_of(text: str) -> float | None:
    """The finite number that a text is; None if it is none."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
