"""What is typed of structures that are there: fuse many."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from fedbn.setting import require_one_of
from simulations.commands.fuse_options import FuseOptions, fuse_settings
from simulations.options import Json, Quiet, Seed, with_settings
from simulations.progress import starting


@with_settings(fuse_settings)
def fuse(
    files: Annotated[
        list[Path],
        typer.Argument(help="DAGs: .json, .bif, .csv (with --nodes) or several in one .txt; .gz."),
    ],
    nodes: Annotated[
        str | None, typer.Option(help="The variables of edge lists: a,b,c or a file with names.")
    ] = None,
    first: Annotated[
        int | None, typer.Option(min=1, help="Use only the first R DAGs.", metavar="R")
    ] = None,
    weights: Annotated[
        str | None, typer.Option(help="One positive number per DAG, separated by commas: 2,1,1/3.")
    ] = None,
    *,
    given: Mapping[str, Any],
    gold: Annotated[
        Path | None, typer.Option(help="File of the true structure, for comparison.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Also write a results folder; an earlier one is replaced.")
    ] = None,
    seed: Seed = 1,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Fuse structures into one consensus by MCBNC; θ is chosen after the search.

    The unrestricted fusion keeps every dependence of every input. Edges are deleted from it, the
    one with the smallest criticality first, down to the empty graph. The consensus is the state on
    that path nearest to the inputs (SMHD), or what their votes on edges give if that is nearer. A
    lower bound on the distance of any graph is printed with it.
    """
    with starting("reading the structures", not (quiet or as_json)):
        from fedbn.fusion.inputs import VARIABLES
        from simulations.commands.fuse import fuse_and_report
        from simulations.inputs import read_inputs

        chosen = {key.replace("-", "_"): each for key, each in given.items() if each is not None}
        options = FuseOptions(
            **chosen, files=tuple(files), out=out, seed=seed, as_json=as_json, quiet=quiet
        )
        variables = require_one_of("variables", options.variables, VARIABLES)
        inputs = read_inputs(files, nodes=nodes, first=first, weights=weights, variables=variables)
    fuse_and_report(inputs, options, gold)
