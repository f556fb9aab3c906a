"""The command `fedbn convert`: a network in another file format."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fedbn.whole_file import require_writable
from fedbn.wording import count_of
from simulations.commands.answers import read_network
from simulations.options import Json


def convert(
    network: Annotated[
        str, typer.Argument(help="A results folder, a network's file, or a network's name.")
    ],
    out: Annotated[
        Path,
        typer.Argument(help="A .bif, .json, .xmlbif (.bifxml), .xdsl or .net file to write."),
    ],
    as_json: Json = False,
) -> None:
    """Write a network with its parameters in another format: BIF, XMLBIF, GeNIe, Hugin, JSON.

    JSON keeps names and numbers exactly. The other formats keep numbers exactly; they restrict
    names to words, and a warning lists the names that had to change.
    """
    from fedbn.networks.formats import write_network_file
    from simulations.terminal import print_json

    require_writable(out)
    read = read_network(network)
    write_network_file(read, out)
    if as_json:
        print_json({"variables": read.dag.n, "parameters": read.n_parameters, "out": str(out)})
    else:
        print(
            f"{out}: {count_of(read.dag.n, 'variable')}, {count_of(read.n_parameters, 'parameter')}"
        )
