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
        int | None, typer.Option(min=1, help="Use the first R DAGs only.", metavar="R")
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
            help="Which structure of the path at θ: search, refusion, or the better one (best)."
        ),
    ] = "best",
    theta: Annotated[
        str | None,
        typer.Option(
            help="Take the state at this θ (0.5, 2/3): an edge goes if cutting it takes at most θ "
            "edges per input, on average. Without it: the state nearest to the inputs.",
        ),
    ] = None,
    k_max: Annotated[
        int, typer.Option(min=0, help="Largest |H| of a deletion: neighbours turned into children.")
    ] = 10,
    quorum: Annotated[
        int,
        typer.Option(
            min=1,
            help="A fusion has an arc that so many structures have; above 1 it is no union. For "
            "hundreds of structures with rare arcs of their own.",
        ),
    ] = 1,
    seconds: Annotated[
        float | None,
        typer.Option(
            help="Time budget of order, I-maps and deletions; then the best state so far, or the "
            "edge vote of the inputs, marked as incomplete.",
        ),
    ] = 600.0,
    robust: Annotated[
        str,
        typer.Option(
            help="Against hostile inputs: how the cuts of the inputs become one number. mean (the "
            "paper), clip (each counts as at most 1), median; best: the better of mean and clip.",
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
            help="Rows behind each DAG, with commas: 500,1200,800. With them the test of --groups "
            "auto knows what is due to fewer rows, and finds more.",
        ),
    ] = None,
    max_treewidth: Annotated[
        int | None,
        typer.Option(
            min=0,
            show_default="no limit",
            help="Largest treewidth of the consensus, so that exact inference stays possible.",
        ),
    ] = None,
    knowledge: KnowledgeFile = None,
    polish: Annotated[
        bool,
        typer.Option(
            "--polish", help="Then lower the mean SMHD to the inputs by single-edge changes."
        ),
    ] = False,
    random_ties: Annotated[
        bool, typer.Option("--random-ties", help="Break ties at random (see --seed), not by name.")
    ] = False,
    steps: Annotated[
        bool, typer.Option("--steps", help="Add the order and every deletion (with --json).")
    ] = False,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain",
            help="Say of every pair who has it and when it went, and of every client how far it is "
            "from the consensus. --out writes both as edges.csv and clients.csv.",
        ),
    ] = False,
    gold: Annotated[
        Path | None, typer.Option(help="The true structure, to compare with (a DAG file).")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write a results folder, too.")] = None,
    seed: Seed = 1,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Fuse structures into one consensus (MCBNC), θ chosen after the search.

    The unrestricted fusion has every dependence of every input. From it edges are deleted, the
    least supported first, down to the empty graph; of all states on that path the one nearest to
    the inputs (SMHD) is the consensus, with a bound that no other graph can be below.
    """
    with starting("reading the structures", not (quiet or as_json)):
        from simulations.commands.fuse import fuse_and_report
        from simulations.commands.fuse_options import FuseOptions
        from simulations.inputs import read_inputs

        inputs = read_inputs(files, nodes=nodes, first=first, weights=weights)
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
