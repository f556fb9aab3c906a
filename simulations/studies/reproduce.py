"""The studies of papers as commands: `fedbn reproduce`."""

from __future__ import annotations

import typer

from simulations.options import examples
from simulations.studies.cg_dca.reproduce import reproduce_cg_dca
from simulations.studies.credible_bn.reproduce import credible as reproduce_credible
from simulations.studies.different_variables.reproduce import reproduce_different_variables
from simulations.studies.groups.reproduce import reproduce_groups
from simulations.studies.mcbnc_aaai26.reproduce import reproduce_mcbnc
from simulations.studies.missing_cells.reproduce import reproduce_missing_cells
from simulations.studies.pooling.reproduce import reproduce_pooling
from simulations.studies.privacy.reproduce import reproduce_privacy
from simulations.studies.real_tables.reproduce import reproduce_real_tables
from simulations.studies.strengths.reproduce import reproduce_strengths

reproduce = typer.Typer(
    name="reproduce",
    help="Repeat the tables of the papers beside the papers' figures, and fedbn's own studies. "
    "They take long: try --smoke first. An interrupted study continues where it was.",
    no_args_is_help=True,
)
reproduce.command("credible")(reproduce_credible)
reproduce.command(
    "mcbnc",
    epilog=examples(
        "fedbn reproduce mcbnc --smoke --out results/mcbnc-smoke",
        "fedbn reproduce mcbnc --part grid --network andes --r 50 --repetitions 3 --minutes 10",
    ),
)(reproduce_mcbnc)
reproduce.command(
    "cg-dca",
    epilog=examples(
        "fedbn reproduce cg-dca --smoke --out results/cg-dca-smoke",
        "fedbn reproduce cg-dca --part gaussian --variables 15 --instances 3 --minutes 10",
    ),
)(reproduce_cg_dca)
reproduce.command(
    "privacy",
    epilog=examples(
        "fedbn reproduce privacy --smoke --out results/privacy-smoke",
        "fedbn reproduce privacy --part audit --out results/privacy",
    ),
)(reproduce_privacy)
reproduce.command(
    "pooling",
    epilog=examples(
        "fedbn reproduce pooling --smoke --out results/pooling-smoke",
        "fedbn reproduce pooling --part differing --seeds 3 --out results/pooling",
    ),
)(reproduce_pooling)
reproduce.command(
    "groups",
    epilog=examples(
        "fedbn reproduce groups --smoke --out results/groups-smoke",
        "fedbn reproduce groups --part alike --seeds 3 --out results/groups",
    ),
)(reproduce_groups)
reproduce.command(
    "strengths",
    epilog=examples(
        "fedbn reproduce strengths --smoke --out results/strengths-smoke",
        "fedbn reproduce strengths --part tuning --out results/strengths",
    ),
)(reproduce_strengths)
reproduce.command(
    "missing-cells",
    epilog=examples(
        "fedbn reproduce missing-cells --smoke --out results/missing-cells-smoke",
        "fedbn reproduce missing-cells --network child --seeds 3 --out results/missing-cells",
    ),
)(reproduce_missing_cells)
reproduce.command(
    "real-tables",
    epilog=examples(
        "fedbn reproduce real-tables --smoke --out results/real-tables-smoke",
        "fedbn reproduce real-tables --part sites --seeds 3 --out results/real-tables",
    ),
)(reproduce_real_tables)
reproduce.command(
    "different-variables",
    epilog=examples(
        "fedbn reproduce different-variables --smoke --out results/different-smoke",
        "fedbn reproduce different-variables --network child --sites 10 --out results/different",
    ),
)(reproduce_different_variables)
