"""BIF, the interchange format of Bayesian networks: files in and out, and pgmpy's models.

Files are read by `bif_grammar.py` and written here, the same text as pgmpy's writer makes: pgmpy
takes two seconds to import and is only needed for its own models. Names are kept from what readers
would mangle in silence:

- pgmpy matches names without regard to case, so names that differ in case only are renamed, for
  its users (a model of pgmpy's with such names is refused);
- there are no quotes, so characters that end a word for some reader of BIF become "_", and what
  would be read as a number gets one in front (pyAgrum is the strictest reader known);

and a warning says what was renamed (`fedbn.networks.plain_words`).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from fedbn.errors import NetworkError
from fedbn.extras import require_installed
from fedbn.networks.bif_grammar import network_from_bif
from fedbn.networks.json_file import read_text
from fedbn.networks.network import BayesianNetwork, ConditionalTable
from fedbn.networks.plain_words import WORD, with_words
from fedbn.whole_file import write_whole


def read_bif(path: str | Path) -> BayesianNetwork:
    """The network of a .bif or .bif.gz file.

    Raises
    ------
    NetworkError : the file cannot be read or parsed, or is no network; names the file.
    """
    return network_from_bif(read_text(path), str(path))


def bif_text(network: BayesianNetwork) -> str:
    """The network as BIF: the same text for equal networks.

    Warns
    -----
    FedbnWarning : a name or state had to be renamed (see the module's docstring).
    """
    said = with_words(network, "BIF", WORD)
    nodes = sorted(range(said.dag.n), key=said.names.__getitem__)
    variables = (_variable(said, node) for node in nodes)
    return "".join(("network unknown {\n}\n", *variables, *(_table(said, node) for node in nodes)))


def _variable(network: BayesianNetwork, node: int) -> str:
    states = network.schema.states[node]
    return (
        f"variable {network.names[node]} {{\n"
        f"    type discrete [ {len(states)} ] {{ {', '.join(states)} }};\n}}\n"
    )


def _table(network: BayesianNetwork, node: int) -> str:
    """The node's table: one row per configuration of the parents, the last one fastest."""
    parents = network.dag.parents(node)
    rows = [", ".join(map(str, row)) for row in network.cpts[node].tolist()]
    if not parents:
        return f"probability ( {network.names[node]} ) {{\n    table {rows[0]} ;\n}}\n"
    given = product(*(network.schema.states[parent] for parent in parents))
    lines = (f"    ( {', '.join(g)} ) {row};\n" for g, row in zip(given, rows, strict=True))
    names = ", ".join(network.names[parent] for parent in parents)
    return f"probability ( {network.names[node]} | {names} ) {{\n{''.join(lines)}\n}}\n"


def write_bif(network: BayesianNetwork, path: str | Path) -> None:
    """Write the network as BIF; raises ResultsError when the file cannot be written."""
    write_whole(path, bif_text(network))


def to_pgmpy(network: BayesianNetwork) -> Any:
    """The network as a pgmpy DiscreteBayesianNetwork."""
    require_installed("pgmpy")
    from pgmpy.factors.discrete import TabularCPD
    from pgmpy.models import DiscreteBayesianNetwork

    names, states = network.names, network.schema.states
    model = DiscreteBayesianNetwork()
    model.add_nodes_from(names)
    model.add_edges_from(network.dag.edges)
    for node, name in enumerate(names):
        parents = network.dag.parents(node)
        family = [node, *parents]
        cpd = TabularCPD(
            name,
            len(states[node]),
            network.cpts[node].T,
            evidence=[names[parent] for parent in parents],
            evidence_card=[len(states[parent]) for parent in parents],
            state_names={names[member]: list(states[member]) for member in family},
        )
        model.add_cpds(cpd)
    return model


def from_pgmpy(model: Any) -> BayesianNetwork:
    """The network of a pgmpy DiscreteBayesianNetwork.

    Raises
    ------
    NetworkError : a variable has no table, two names differ in case only, or a table is wrong.
    """
    names = [str(name) for name in model.nodes()]
    _refuse_case_twins(names)
    tables = {}
    for name in names:
        cpd = model.get_cpds(name)
        if cpd is None:
            raise NetworkError(f"variable {name!r} has no probability table")
        tables[name] = ConditionalTable(
            tuple(str(state) for state in cpd.state_names[name]),
            tuple(cpd.variables[1:]),
            np.asarray(cpd.get_values(), dtype=np.float64).T,
        )
    return BayesianNetwork.from_tables(tables)


def _refuse_case_twins(names: Sequence[str]) -> None:
    seen: dict[str, str] = {}
    for name in names:
        twin = seen.setdefault(name.lower(), name)
        if twin != name:
            raise NetworkError(
                f"variables {twin!r} and {name!r} differ in case only, "
                "and pgmpy takes such names for one"
            )
