"""XMLBIF and GeNIe's .xdsl: networks as XML.

Own readers and writers: pgmpy's round and rename without a word, pyAgrum's keep single precision.
Numbers are written so that they are read back bit by bit; names and states are identifiers, as
GeNIe needs them, and a warning says what was renamed. In both formats the table has a row per
configuration of the parents, the last parent fastest, and in a row the states of the variable.

XMLBIF 0.3: Cozman, "The Interchange Format for Bayesian Networks". GeNIe: only `cpt` nodes, which
may lie in submodels; other kinds of nodes are refused by their name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from fedbn.errors import NetworkError
from fedbn.networks.json_file import read_text
from fedbn.networks.network import BayesianNetwork
from fedbn.networks.number_tables import network_of_numbers
from fedbn.networks.plain_words import IDENTIFIER, with_words


def xmlbif_text(network: BayesianNetwork) -> str:
    """The network as XMLBIF; equal texts for equal networks. Warns of names that are changed."""
    said = with_words(network, "XMLBIF", IDENTIFIER)
    root = Element("BIF", VERSION="0.3")
    inside = SubElement(root, "NETWORK")
    SubElement(inside, "NAME").text = "fedbn"
    for name, states in zip(said.names, said.schema.states, strict=True):
        variable = SubElement(inside, "VARIABLE", TYPE="nature")
        SubElement(variable, "NAME").text = name
        for state in states:
            SubElement(variable, "OUTCOME").text = state
    for node, name in enumerate(said.names):
        definition = SubElement(inside, "DEFINITION")
        SubElement(definition, "FOR").text = name
        for parent in said.dag.parents(node):
            SubElement(definition, "GIVEN").text = said.names[parent]
        SubElement(definition, "TABLE").text = _numbers(said, node)
    return _text(root)


def xdsl_text(network: BayesianNetwork) -> str:
    """The network as GeNIe's .xdsl; equal texts for equal networks. Warns of changed names."""
    said = with_words(network, "GeNIe", IDENTIFIER)
    root = Element("smile", version="1.0", id="fedbn", numsamples="1000", discsamples="10000")
    nodes = SubElement(root, "nodes")
    order = said.dag.topological_order()
    for node in order:
        cpt = SubElement(nodes, "cpt", id=said.names[node])
        for state in said.schema.states[node]:
            SubElement(cpt, "state", id=state)
        if parents := said.dag.parents(node):
            SubElement(cpt, "parents").text = " ".join(said.names[parent] for parent in parents)
        SubElement(cpt, "probabilities").text = _numbers(said, node)
    genie = SubElement(SubElement(root, "extensions"), "genie", version="1.0", name="fedbn")
    for place, node in enumerate(order):
        shown = SubElement(genie, "node", id=said.names[node])
        SubElement(shown, "name").text = said.names[node]
        left, top = 20 + 160 * (place % 6), 20 + 90 * (place // 6)
        SubElement(shown, "position").text = f"{left} {top} {left + 120} {top + 50}"
    return _text(root)


def _numbers(network: BayesianNetwork, node: int) -> str:
    return " ".join(map(repr, network.cpts[node].ravel().tolist()))


def _text(root: Element) -> str:
    ElementTree.indent(root)
    body = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}\n'


def read_xmlbif(path: str | Path) -> BayesianNetwork:
    """The network of a .xmlbif or .bifxml file.

    Raises
    ------
    NetworkError : the file cannot be read, or is not such a network; names file and variable.
    """
    source, root = str(path), _root(path)
    inside = root if root.tag == "NETWORK" else root.find("NETWORK")
    if inside is None:
        raise NetworkError(f"{source} is not XMLBIF: it has no NETWORK")
    states = {}
    for variable in inside.findall("VARIABLE"):
        name = _word(variable.find("NAME"), source, "a VARIABLE without NAME")
        kind = variable.get("TYPE", "nature")
        if kind != "nature" or name in states:
            why = "is there twice" if name in states else f"is of TYPE {kind!r}, not nature"
            raise NetworkError(f"{source}: variable {name!r} {why}")
        states[name] = [_word(each, source, name) for each in variable.findall("OUTCOME")]
    found = {}
    for definition in inside.findall("DEFINITION"):
        name = _word(definition.find("FOR"), source, "a DEFINITION without FOR")
        if name in found:
            raise NetworkError(f"{source}: variable {name!r} has two tables")
        parents = [_word(each, source, name) for each in definition.findall("GIVEN")]
        found[name] = (parents, _floats(definition.find("TABLE"), source, name))
    return network_of_numbers(source, states, found)


def read_xdsl(path: str | Path) -> BayesianNetwork:
    """The network of a GeNIe file; raises NetworkError as `read_xmlbif`, and for other nodes."""
    source, root = str(path), _root(path)
    nodes = root.find("nodes")
    if root.tag != "smile" or nodes is None:
        raise NetworkError(f"{source} is not a GeNIe file: it has no <smile> with <nodes>")
    states: dict[str, list[str]] = {}
    found = {}
    for cpt in _cpts(nodes, source):
        name = cpt.get("id", "")
        if name in states:
            raise NetworkError(f"{source}: variable {name!r} is there twice")
        states[name] = [state.get("id", "") for state in cpt.findall("state")]
        parents = (cpt.findtext("parents") or "").split()
        found[name] = (parents, _floats(cpt.find("probabilities"), source, name))
    return network_of_numbers(source, states, found)


def _cpts(nodes: Element, source: str) -> Iterator[Element]:
    for each in nodes:
        if each.tag == "submodel":
            yield from _cpts(each, source)
        elif each.tag == "cpt":
            yield each
        else:
            raise NetworkError(
                f"{source}: node {each.get('id', '')!r} is a {each.tag}; only cpt nodes can be read"
            )


def _root(path: str | Path) -> Element:
    text = read_text(path)
    if "<!ENTITY" in text:
        raise NetworkError(f"{path}: entities of XML are not read")
    try:
        return ElementTree.fromstring(text.encode("utf-8"))
    except ElementTree.ParseError as error:
        raise NetworkError(f"{path} is not XML: {error}") from None


def _word(element: Element | None, source: str, where: str) -> str:
    text = "" if element is None else (element.text or "").strip()
    if not text:
        raise NetworkError(f"{source}: a name is missing ({where})")
    return text


def _floats(element: Element | None, source: str, name: str) -> Sequence[float]:
    text = "" if element is None else "".join(element.itertext())
    try:
        return [float(word) for word in text.split()]
    except ValueError as error:
        raise NetworkError(f"{source}: the table of {name!r}: {error}") from None
