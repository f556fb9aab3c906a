"""File formats of networks by suffix: who reads them, and who writes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from fedbn.errors import ResultsError
from fedbn.networks.bif import bif_text, read_bif
from fedbn.networks.conditional_gaussian import Network
from fedbn.networks.hugin import hugin_text, read_hugin
from fedbn.networks.json_file import network_to_json, read_json_network
from fedbn.networks.network import BayesianNetwork
from fedbn.networks.xml_files import read_xdsl, read_xmlbif, xdsl_text, xmlbif_text
from fedbn.whole_file import write_whole

READERS: Mapping[str, Callable[[str | Path], Network]] = {
    ".bif": read_bif,
    ".json": read_json_network,
    ".xmlbif": read_xmlbif,
    ".bifxml": read_xmlbif,
    ".xdsl": read_xdsl,
    ".net": read_hugin,
}
WRITERS: Mapping[str, Callable[[BayesianNetwork], str]] = {
    ".bif": bif_text,
    ".json": network_to_json,
    ".xmlbif": xmlbif_text,
    ".bifxml": xmlbif_text,
    ".xdsl": xdsl_text,
    ".net": hugin_text,
}
SUFFIXES = tuple(f"{suffix}{packed}" for suffix in READERS for packed in ("", ".gz"))
"""Of files that hold a network."""


def write_network_file(network: Network, path: str | Path) -> None:
    """Write a network in the format of the file's suffix, whole or not at all.

    Raises
    ------
    ResultsError : the suffix is unknown, equations of numbers have no such format, or the
        file cannot be written.

    Warns
    -----
    FedbnWarning : the format cannot carry a name, which is another one in the file.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in WRITERS:
        raise ResultsError(
            f"{path}: a network is written to {', '.join(WRITERS)}, not to {suffix or 'that'!r}"
        )
    if not isinstance(network, BayesianNetwork):
        if suffix != ".json":
            raise ResultsError(f"{path}: linear equations are written to .json alone")
        write_whole(path, network_to_json(network))
        return
    write_whole(path, WRITERS[suffix](network))
