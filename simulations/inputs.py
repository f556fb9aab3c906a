"""What the command's arguments name: structures in files, networks by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import typer

from fedbn.errors import ConfigError, StructureError
from fedbn.graphs.dag import DAG
from fedbn.graphs.files import NamedDAG, read_nodes, read_structures


def read_inputs(
    files: Sequence[Path],
    *,
    nodes: str | None,
    first: int | None,
    weights: str | None,
    variables: str = "same",
) -> tuple[NamedDAG, ...]:
    """The DAGs of all files, in their order, with distinct labels.

    Parameters
    ----------
    nodes : the variables of edge lists, as text or as the path of a file.
    first : keep this many.
    weights : numbers or fractions with commas, one per DAG that is kept.
    variables : "union" where DAGs may be over different variables.

    Raises
    ------
    StructureError : a file is wrong, DAGs differ in their variables and must not, or there are
        fewer than `first`.
    ConfigError : the weights are not as they must be.
    """
    names = None if nodes is None else read_nodes(nodes)
    found = [entry for file in files for entry in read_structures(file, nodes=names)]
    if first is not None:
        if first > len(found):
            raise StructureError(f"--first {first} needs as many DAGs, the files have {len(found)}")
        found = found[:first]
    for entry in found[1:] if variables == "same" else ():
        different = sorted(set(entry.dag.names) ^ set(found[0].dag.names))
        if different:
            raise StructureError(
                f"all DAGs must have the same variables, but only one of {found[0].label!r} and "
                f"{entry.label!r} has {different[0]!r}; --variables union fuses structures over "
                "different variables"
            )
    if weights is not None:
        found = _weigh(found, weights)
    return _label(found)


def _weigh(found: Sequence[NamedDAG], text: str) -> list[NamedDAG]:
    try:
        weights = [Fraction(part.strip()) for part in text.split(",")]
    except (ValueError, ZeroDivisionError):
        weights = []
    if len(weights) != len(found) or not all(weight > 0 for weight in weights):
        raise ConfigError(
            f"--weights must be positive numbers like 2,1,1/3, one per DAG ({len(found)}), "
            f"not {text!r}"
        )
    return [replace(e, weight=w) for e, w in zip(found, weights, strict=True)]


def _label(found: Sequence[NamedDAG]) -> tuple[NamedDAG, ...]:
    """The same DAGs; a label that is taken gets a number."""
    taken: set[str] = set()
    entries = []
    for entry in found:
        label, count = entry.label, 1
        while label in taken:
            count += 1
            label = f"{entry.label}#{count}"
        taken.add(label)
        entries.append(replace(entry, label=label))
    return tuple(entries)


def one_structure(
    text: str, *, nodes: Sequence[str] | None = None, network_dir: Path | None = None
) -> DAG:
    """The DAG of a structure file that holds one, of a results folder, or of a network by its name.

    Raises
    ------
    StructureError : the file holds several DAGs, or is wrong.
    NetworkError : there is neither such a file nor such a network.
    """
    path = Path(text)
    if (path / "run.json").is_file():
        path /= "consensus.json"
    if not path.is_file() and path.suffix not in (".json", ".csv", ".txt", ".gz"):
        from fedbn.networks.catalog import load_network

        return load_network(text, network_dir).dag
    found = read_structures(path, nodes=nodes)
    if len(found) > 1:
        raise StructureError(f"{path}: one DAG is needed, the file has {len(found)}")
    return found[0].dag


def network_facts(network_dir: Path | None) -> list[dict[str, Any]]:
    """Name, nodes, edges, largest in-degree and parameters of every network at hand.

    Raises
    ------
    NetworkError : `network_dir` is no folder, or one of its files is wrong.
    """
    from fedbn.networks.catalog import known_networks, load_network

    facts = []
    for name in known_networks(network_dir):
        network = load_network(name, network_dir)
        facts.append(
            {
                "name": name,
                "nodes": network.dag.n,
                "edges": network.dag.n_edges,
                "max_parents": network.dag.in_degree,
                "parameters": getattr(network, "n_parameters", None),
            }
        )
    return facts


def set_options(settings: Sequence[str]) -> dict[str, Any]:
    """KEY=VALUE texts as a mapping; values are TOML, or bare text. Anything else is wrong usage."""
    import tomllib

    found: dict[str, Any] = {}
    for text in settings:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise typer.BadParameter(f"--set needs KEY=VALUE, got {text!r}")
        try:
            found[key.strip()] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            found[key.strip()] = value
    return found


def require_ess_of(score: str, ess: float) -> None:
    """Raises ConfigError for an equivalent sample size beside a score that has none."""
    if score != "bdeu" and ess != 1.0:
        raise ConfigError(f"--ess is for the score bdeu; {score!r} has no use for it")
