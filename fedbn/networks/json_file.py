"""Networks as JSON, the format of the embedded networks.

    {"kind": "categorical", "variables": {"rain": {
        "states": ["no", "yes"], "parents": [], "probabilities": [[0.8, 0.2]]}, ...}}
    {"kind": "gaussian", "variables": {"height": {
        "coefficients": {"age": 1.5}, "intercept": 0.0, "standard_deviation": 1.0}, ...}}
    {"kind": "mixed", "variables": {"height": {"categories": ["sex"], "numbers": ["age"],
        "coefficients": [[1.5], [1.4]], "intercepts": [0.0, 2.0],
        "standard_deviations": [1.0, 1.0]}, "sex": {"states": ...}, ...}}

Weighted networks are {"weights": [0.7, 0.3], "networks": [...]}, each as above.

`probabilities` has one row per configuration of the parents, the last parent running fastest, and
one column per state; so have the equations of a number, in the order of its categories. Parents are
given by name, so variables may come in any order.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fedbn.arrays import Floats
from fedbn.bounded_file import json_value, read_bounded
from fedbn.data.schema import Schema, Variable
from fedbn.errors import NetworkError, SchemaError
from fedbn.networks.conditional_gaussian import (
    ConditionalGaussianNetwork,
    Network,
    Regressions,
)
from fedbn.networks.linear_gaussian import LinearEquation, LinearGaussianNetwork
from fedbn.networks.network import BayesianNetwork, ConditionalTable, dag_of_parents
from fedbn.whole_file import write_whole
from fedbn.wording import reason_of

_KINDS = ("categorical", "gaussian", "mixed")
_CATEGORICAL_KEYS = {"states", "parents", "probabilities"}
_GAUSSIAN_KEYS = {"coefficients", "intercept", "standard_deviation"}
_NUMBER_KEYS = {"categories", "numbers", "coefficients", "intercepts", "standard_deviations"}


def network_to_json(network: Network) -> str:
    """The network as JSON text, one variable per line, numbers exact."""
    if isinstance(network, BayesianNetwork):
        kind, variables = "categorical", _tables(network)
    elif isinstance(network, ConditionalGaussianNetwork):
        kind, variables = "mixed", _of_both_kinds(network)
    else:
        kind, variables = "gaussian", _equations(network)
    lines = [
        f"  {json.dumps(name, ensure_ascii=False)}: "
        f"{json.dumps(fields, ensure_ascii=False, separators=(',', ':'))}"
        for name, fields in variables.items()
    ]
    return f'{{"kind": "{kind}", "variables": {{\n' + ",\n".join(lines) + "\n}}\n"


def network_from_json(text: str, source: str) -> Network:
    """The inverse of `network_to_json`.

    Parameters
    ----------
    text : JSON as in the module's docstring.
    source : the file, for the error text.

    Raises
    ------
    NetworkError : it is not as described; names source, and variable where there is one.
    """
    try:
        document = json_value(text)
    except ValueError as error:
        raise NetworkError(f"{source} is not JSON: {error}") from error
    if not isinstance(document, dict) or document.get("kind") not in _KINDS:
        raise NetworkError(
            f'{source} must have "kind": "categorical", "gaussian" or "mixed", and a table or an '
            "equation per variable; a structure alone has no parameters"
        )
    variables = document.get("variables")
    if not isinstance(variables, dict) or not variables:
        raise NetworkError(f'{source} must have "variables": {{name: ...}}, at least one')
    try:
        if document["kind"] == "categorical":
            return BayesianNetwork.from_tables(
                {name: _table(name, fields) for name, fields in variables.items()}
            )
        if document["kind"] == "mixed":
            return _network_of_both_kinds(variables)
        return LinearGaussianNetwork.from_equations(
            {name: _equation(name, fields) for name, fields in variables.items()}
        )
    except (NetworkError, SchemaError) as error:
        raise NetworkError(f"{source}: {error}") from error


def weighted_to_json(networks: Sequence[Network], weights: Sequence[float]) -> str:
    """Weighted networks as JSON text, numbers exact."""
    texts = ",".join(network_to_json(network).rstrip("\n") for network in networks)
    return f'{{"weights": {json.dumps(list(weights))}, "networks": [{texts}]}}\n'


def weighted_from_json(text: str, source: str) -> tuple[list[Network], list[float]]:
    """The inverse of `weighted_to_json`; raises NetworkError naming the source."""
    try:
        document = json_value(text)
        weights, found = document["weights"], document["networks"]
        numbers = [float(weight) for weight in weights]
        networks = [network_from_json(json.dumps(each), source) for each in found]
    except (ValueError, TypeError, KeyError) as error:
        raise NetworkError(f"{source} holds no weighted networks: {error}") from error
    if not networks or len(networks) != len(numbers):
        raise NetworkError(f"{source} must have one weight per network, and one network at least")
    return networks, numbers


def read_json_network(path: str | Path) -> Network:
    """The network of a .json or .json.gz file; raises NetworkError naming the file."""
    return network_from_json(read_text(path), str(path))


def write_json_network(network: Network, path: str | Path) -> None:
    """Write the network as JSON; raises ResultsError when the file cannot be written."""
    write_whole(path, network_to_json(network))


def read_text(path: str | Path) -> str:
    """The text of a UTF-8 file, unpacked when its name ends in .gz; raises NetworkError."""
    path = Path(path)
    try:
        content = read_bounded(path, gzipped=path.suffix.lower() == ".gz")
        return content.decode("utf-8-sig")
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise NetworkError(f"{path} cannot be read: {reason_of(error)}") from error


def _tables(network: BayesianNetwork) -> dict[str, Any]:
    return {
        name: {
            "states": network.schema.states[node],
            "parents": [network.names[parent] for parent in network.dag.parents(node)],
            "probabilities": network.cpts[node].tolist(),
        }
        for node, name in enumerate(network.names)
    }


def _equations(network: LinearGaussianNetwork) -> dict[str, Any]:
    return {
        name: {
            "coefficients": {
                network.names[parent]: float(network.coefficients[parent, node])
                for parent in network.dag.parents(node)
            },
            "intercept": float(network.intercepts[node]),
            "standard_deviation": float(network.standard_deviations[node]),
        }
        for node, name in enumerate(network.names)
    }


def _of_both_kinds(network: ConditionalGaussianNetwork) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for node, (variable, own) in enumerate(
        zip(network.schema.variables, network.parameters, strict=True)
    ):
        if not isinstance(own, Regressions):
            parents = [network.names[parent] for parent in network.dag.parents(node)]
            told = {"states": variable.states, "parents": parents, "probabilities": own.tolist()}
        else:
            family = network.family(node)
            told = {
                "categories": [network.names[i] for i in family.categories],
                "numbers": [network.names[i] for i in family.numbers],
                "coefficients": own.coefficients.tolist(),
                "intercepts": own.intercepts.tolist(),
                "standard_deviations": own.standard_deviations.tolist(),
            }
        found[variable.name] = told
    return found


def _network_of_both_kinds(variables: Mapping[str, Any]) -> ConditionalGaussianNetwork:
    """The network, its variables in any order; parents and states as they are written, sorted."""
    parents: dict[str, list[str]] = {}
    kinds: list[Variable] = []
    found: dict[str, Any] = {}
    for name, fields in variables.items():
        if isinstance(fields, Mapping) and "states" in fields:
            table = _table(name, fields)
            _require_sorted(name, "states", table.states)
            _require_sorted(name, "parents", table.parents)
            kinds.append(Variable(name, table.states))
            parents[name], found[name] = list(table.parents), table.rows
            continue
        _require_keys(name, fields, _NUMBER_KEYS)
        for key in ("categories", "numbers"):
            texts = fields[key]
            if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
                raise NetworkError(f"variable {name!r}: {key!r} must be a list of texts")
            _require_sorted(name, key, texts)
        kinds.append(Variable(name))
        parents[name] = [*fields["categories"], *fields["numbers"]]
        arrays = [
            _numbers(name, key, fields[key])
            for key in ("coefficients", "intercepts", "standard_deviations")
        ]
        found[name] = Regressions(
            arrays[0].reshape(len(arrays[1]), -1)
            if arrays[0].size
            else np.zeros((len(arrays[1]), len(fields["numbers"]))),
            arrays[1],
            arrays[2],
        )
    schema = Schema(tuple(kinds))
    for name in schema.names:
        if not isinstance(found[name], Regressions):
            continue
        for key, wanted in (("categories", False), ("numbers", True)):
            for parent in variables[name][key]:
                if parent in schema.names and (
                    (schema.variables[schema.index(parent)].states is None) != wanted
                ):
                    raise NetworkError(f"variable {name!r}: {parent!r} is none of the {key}")
    dag = dag_of_parents(schema.names, parents)
    return ConditionalGaussianNetwork(dag, schema, tuple(found[name] for name in schema.names))


def _numbers(name: str, key: str, told: Any) -> Floats:
    try:
        return np.array(told, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise NetworkError(
            f"variable {name!r}: {key!r} must be (equally long lists of) numbers"
        ) from error


def _require_sorted(name: str, key: str, texts: Sequence[str]) -> None:
    """Raise NetworkError unless texts ascend: the order of the rows is that of names and states."""
    if list(texts) != sorted(set(texts)):
        raise NetworkError(
            f"variable {name!r}: {key!r} of a mixed network must be sorted and distinct, "
            f"not {list(texts)}"
        )


def _table(name: str, fields: Any) -> ConditionalTable:
    _require_keys(name, fields, _CATEGORICAL_KEYS)
    states, parents = fields["states"], fields["parents"]
    for key, texts in (("states", states), ("parents", parents)):
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise NetworkError(f"variable {name!r}: {key!r} must be a list of texts")
    try:
        rows = np.array(fields["probabilities"], dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise NetworkError(
            f"variable {name!r}: 'probabilities' must be a list of equally long lists of numbers"
        ) from error
    return ConditionalTable(tuple(states), tuple(parents), rows)


def _equation(name: str, fields: Any) -> LinearEquation:
    _require_keys(name, fields, _GAUSSIAN_KEYS)
    if not isinstance(fields["coefficients"], dict):
        raise NetworkError(f"variable {name!r}: 'coefficients' must be {{parent: number}}")
    numbers = [fields["intercept"], fields["standard_deviation"], *fields["coefficients"].values()]
    for number in numbers:
        if not isinstance(number, int | float) or isinstance(number, bool):
            raise NetworkError(f"variable {name!r}: expected a number, found {number!r}")
    return LinearEquation(
        fields["coefficients"], float(fields["intercept"]), float(fields["standard_deviation"])
    )


def _require_keys(name: str, fields: Any, keys: set[str]) -> None:
    if not isinstance(fields, Mapping) or set(fields) != keys:
        raise NetworkError(f"variable {name!r} must have exactly the keys {sorted(keys)}")
