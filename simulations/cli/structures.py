"""What is typed of structures that are there: fuse many."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from simulations.options import Json, KnowledgeFile, Quiet, Seed
from simulations.progress import starting

__all__ = ["fuse"]


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
        str | None, typer.Option(help="One positive number per DAG, with commas: 2,1,1/3.")
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            help="mcbnc, or to compare with: union (all of the I-maps' edges), intersection, vote "
            "(edges that enough inputs have), median (local optimum of the mean SMHD), "
            "genetic-union and genetic-inputs (treewidth at most 5).",
        ),
    ] = "mcbnc",
    reading: Annotated[
        str,
        typer.Option(
            help="How a state of the path becomes a structure: search, refusion, or the better of "
            "both (best). With best, structures that are far from what the others agree on are "
            "ignored."
        ),
    ] = "best",
    theta: Annotated[
        str | None,
        typer.Option(
            help="Use the state at this θ (0.5, 2/3) instead of the state nearest to the inputs: "
            "an edge is deleted if cutting it takes at most θ edges per input, on average.",
        ),
    ] = None,
    k_max: Annotated[
        int,
        typer.Option(
            min=0, help="Maximum size of the set H of a deletion (neighbours turned into children)."
        ),
    ] = 10,
    quorum: Annotated[
        int,
        typer.Option(
            min=1,
            help="Keep an arc in the fusion only if at least this many structures have it; above 1 "
            "the fusion is no longer the union. For hundreds of structures with rare arcs of "
            "their own.",
        ),
    ] = 1,
    seconds: Annotated[
        float | None,
        typer.Option(
            help="Time limit of order, I-maps and deletions, in seconds. At its end the best state "
            "so far, or the edge vote of the inputs, is the result, marked as incomplete.",
        ),
    ] = 600.0,
    robust: Annotated[
        str,
        typer.Option(
            help="Against hostile inputs: how the cuts of the inputs are pooled: mean (the paper), "
            "clip (each cut counts at most 1), median, or best (the better of mean and clip).",
        ),
    ] = "best",
    groups: Annotated[
        str,
        typer.Option(
            help="Groups of structures, each with a consensus of its own, and where they differ: "
            "no, auto (as many as a test finds) or their number.",
        ),
    ] = "no",
    groups_file: Annotated[
        Path | None, typer.Option(help="The groups, if they are known: CSV with site,group.")
    ] = None,
    site_rows: Annotated[
        str | None,
        typer.Option(
            help="Numbers of rows behind the DAGs, with commas: 500,1200,800. --groups auto then "
            "allows for differences that come from fewer rows, and finds more groups.",
        ),
    ] = None,
    max_treewidth: Annotated[
        int | None,
        typer.Option(
            min=0,
            show_default="no limit",
            help="Maximum treewidth of the consensus, so that exact inference stays possible.",
        ),
    ] = None,
    variables: Annotated[
        str,
        typer.Option(
            help="same: all structures must be over the same variables; union: they may be over "
            "different ones, and a structure that lacks a variable has no vote on its edges.",
        ),
    ] = "same",
    min_sites: Annotated[
        int,
        typer.Option(
            min=1,
            help="With --variables union: minimum number of structures over each variable.",
        ),
    ] = 1,
    min_judges: Annotated[
        int,
        typer.Option(
            min=1,
            help="With --variables union: minimum number of structures that judge a separation. "
            "Where fewer are over all variables of the separating set, structures over some of "
            "them judge it as well.",
        ),
    ] = 1,
    knowledge: KnowledgeFile = None,
    polish: Annotated[
        bool,
        typer.Option(
            "--polish",
            help="At the end, lower the mean SMHD to the inputs by changes of single edges.",
        ),
    ] = False,
    random_ties: Annotated[
        bool, typer.Option("--random-ties", help="Break ties at random (see --seed), not by name.")
    ] = False,
    steps: Annotated[
        bool, typer.Option("--steps", help="With --json: include the order and every deletion.")
    ] = False,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain",
            help="Show for every pair which inputs have it and when it was deleted, and for every "
            "client its distance to the consensus. --out writes both as edges.csv and "
            "clients.csv.",
        ),
    ] = False,
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
    least supported first, down to the empty graph. Of all states on that path, the one nearest to
    the inputs (SMHD) is the consensus; a lower bound on the distance of any graph is given with it.
    """
    with starting("reading the structures", not (quiet or as_json)):
        from fedbn.fusion.inputs import VARIABLES
        from fedbn.setting import require_one_of
        from simulations.commands.fuse import fuse_and_report
        from simulations.commands.fuse_options import FuseOptions
        from simulations.inputs import read_inputs

        require_one_of("variables", variables, VARIABLES)
        inputs = read_inputs(files, nodes=nodes, first=first, weights=weights, variables=variables)
    options = FuseOptions(
        method=method,
        reading=reading,
        theta=theta,
        k_max=k_max,
        quorum=quorum,
        seconds=seconds,
        robust=robust,
        groups=groups,
        groups_file=groups_file,
        site_rows=site_rows,
        knowledge=knowledge,
        max_treewidth=max_treewidth,
        variables=variables,
        min_sites=min_sites,
        min_judges=min_judges,
        polish=polish,
        seed=seed,
        random_ties=random_ties,
        steps=steps,
        explain=explain,
        out=out,
        as_json=as_json,
        quiet=quiet,
        files=tuple(files),
    )
    fuse_and_report(inputs, options, gold)
