"""The parameters of a consensus as the report shows them: tables cut to what a page can hold."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

from fedbn.errors import FedbnWarning, QueryError
from fedbn.networks.conditional_gaussian import ConditionalGaussianNetwork, Regressions
from fedbn.networks.network import BayesianNetwork
from fedbn.networks.parameter_sources import not_given_in, remarks_in
from fedbn.results.page.numbers import numbers_content, spreads_in
from fedbn.results.placement import printable_name

if TYPE_CHECKING:
    from fedbn.arrays import Floats
    from fedbn.networks.conditional_gaussian import Network

ROWS = 50
"""Rows of a table that are shown."""

STATES = 20
"""Columns of a table that are shown."""

CELLS = 2_000_000
"""Marginals are computed while the tables of their elimination have at most so many cells."""


BIF_BYTES = 1_000_000
"""A longer BIF is not in the page, only in the folder."""


def told_parameters(
    network: Network | None,
    held_back: Mapping[str, Sequence[str]] | None = None,
    names: Sequence[str] | None = None,
) -> dict[str, Any]:
    """What the report has of a network: `parameters`, `bif` and `held_back`.

    `names` are the variables of the drawing, where these may be more than the network's: None
    stands for the parameters of the others.

    `bif` is the text of consensus.bif; `held_back` has a row per variable whose table is without
    the rows of some sites: the variable, and these sites.
    """
    told = held_back or {} if network is not None else {}
    return {
        "parameters": _place_all(network, names),
        "bif": _bif_of(network),
        "held_back": [
            [printable_name(variable), ", ".join(map(printable_name, sites))]
            for variable, sites in told.items()
        ],
    }


def told_numbers(network: Network | None, run: Mapping[str, Any]) -> dict[str, Any]:
    """`numbers`, where the values of every column of numbers lie; `run` is what run.json says."""
    return {"numbers": numbers_content(network, spreads_in(run, "run.json"))}


def told_not_given(run: Mapping[str, Any]) -> dict[str, Any]:
    """`not_given`, one line for every family whose table is not known; nothing where all are."""
    found = not_given_in(run, "run.json")
    return {"not_given": [printable_name(each.words) for each in found]} if found else {}


def told_remarks(run: Mapping[str, Any]) -> dict[str, Any]:
    """`parameter_remarks`, what else a reader of the parameters must be told; nothing where there
    is nothing."""
    found = remarks_in(run, "run.json")
    return {"parameter_remarks": list(map(printable_name, found))} if found else {}


def _place_all(
    network: Network | None, names: Sequence[str] | None
) -> list[dict[str, Any] | None] | None:
    """As `parameters_of`, for each of these names; parents are places among them."""
    found = parameters_of(network)
    if found is None or network is None or names is None or tuple(names) == network.names:
        return found  # type: ignore[return-value]
    own = dict(zip(network.names, found, strict=True))
    place = {name: k for k, name in enumerate(names)}
    moved = {
        name: each | {"parents": [place[network.names[p]] for p in each["parents"]]}
        for name, each in own.items()
    }
    return [moved.get(name) for name in names]


def _bif_of(network: Network | None) -> str | None:
    """None where there are no tables, or where they are too long for a page."""
    from fedbn.networks.bif import bif_text

    if not isinstance(network, BayesianNetwork):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FedbnWarning)  # renamed states: told with the file itself
        text = bif_text(network)
    return text if len(text.encode("utf-8")) <= BIF_BYTES else None


def parameters_of(
    network: Network | None,
) -> list[dict[str, Any]] | None:
    """Per variable its parents and its table or equation; None where there are none."""
    if network is None:
        return None
    if isinstance(network, BayesianNetwork):
        return _tables(network)
    if isinstance(network, ConditionalGaussianNetwork):
        return _of_both_kinds(network)
    return [
        {
            "parents": list(parents := network.dag.parents(node)),
            "coefficients": [_short(network.coefficients[parent, node]) for parent in parents],
            "intercept": _short(network.intercepts[node]),
            "deviation": _short(network.standard_deviations[node]),
        }
        for node in range(network.dag.n)
    ]


def _of_both_kinds(network: ConditionalGaussianNetwork) -> list[dict[str, Any]]:
    """Tables of categories, and of numbers their equations by configuration."""
    variables, found = network.schema.variables, []
    for node, own in enumerate(network.parameters):
        states = variables[node].states
        if states is not None and not isinstance(own, Regressions):
            found.append(_table(network, node, states, own))
            continue
        assert isinstance(own, Regressions)
        family = network.family(node)
        columns = [variables[parent].states or () for parent in family.categories]
        header = ["intercept", *(printable_name(network.names[i]) for i in family.numbers)]
        rows = []
        for c, values in zip(
            range(min(ROWS, len(own.intercepts))), product(*columns), strict=False
        ):
            cells = [own.intercepts[c], *own.coefficients[c], own.standard_deviations[c]]
            shown = [_short(cell) for cell in cells]
            rows.append([[printable_name(value) for value in values], shown])
        found.append(
            {
                "parents": list(family.categories),
                "states": [*header, "standard deviation"],
                "rows": rows,
                "n_rows": len(own.intercepts),
                "n_states": len(header) + 1,
            }
        )
    return found


def _table(
    network: Network, node: int, states: Sequence[str], cpt: Floats, marginal: Any = None
) -> dict[str, Any]:
    """One table, cut to what is shown."""
    variables = network.schema.variables
    parents = list(network.dag.parents(node))
    columns = [variables[parent].states or () for parent in parents]
    rows = []
    for _, (values, cells) in zip(
        range(ROWS), zip(product(*columns), cpt, strict=True), strict=False
    ):
        shown = [round(float(cell), 4) for cell in cells[:STATES]]
        rows.append([[printable_name(value) for value in values], shown])
    table: dict[str, Any] = {
        "parents": parents,
        "states": [printable_name(state) for state in states[:STATES]],
        "rows": rows,
        "n_rows": len(cpt),
        "n_states": len(states),
    }
    if marginal is not None:
        table["marginal"] = [round(marginal[state], 4) for state in states[:STATES]]
    return table


def _tables(network: BayesianNetwork) -> list[dict[str, Any]]:
    marginals = _marginals(network)
    return [
        _table(
            network,
            node,
            network.schema.variables[node].states or (),
            network.cpts[node],
            None if marginals is None else marginals[name],
        )
        for node, name in enumerate(network.names)
    ]


def _marginals(network: BayesianNetwork) -> Any:
    """Variable -> state -> probability; None where that would take too much memory."""
    from fedbn.inference.queries import query

    try:
        return query(network, max_cells=CELLS).posteriors
    except QueryError:
        return None


def _short(value: float) -> float:
    return float(f"{value:.5g}")
