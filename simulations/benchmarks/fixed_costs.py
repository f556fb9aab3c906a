"""What a federation costs beside learning: messages, agreement, fusion, tables.

    python -m simulations.benchmarks.fixed_costs --sites 500
    python -m simulations.benchmarks.fixed_costs --sites 100 --engine flower

CPU seconds of this process and of its children that have ended. Kernels are loaded before, in this
process; a child loads its own. `learning` is what the sites say that their searches took.
"""

from __future__ import annotations

import json
import os
import time
from typing import Annotated, Any

import typer

from fedbn.federation.state import FederationResult
from simulations.experiment import experiment_from
from simulations.run import run_experiment


def measure(network: str, sites: int, rows: int, engine: str, seed: int) -> dict[str, Any]:
    """The costs of one run."""
    options = {"network": network, "clients": sites, "rows": rows, "engine": engine, "seed": seed}
    experiment = experiment_from({**options, "share-diagnostics": True})
    began, clock = _cpu_seconds(), time.monotonic()
    run = run_experiment(experiment)
    total, wall = _cpu_seconds() - began, time.monotonic() - clock
    assert isinstance(run.result, FederationResult)
    learning = sum(reply.seconds or 0.0 for reply in run.result.replies)
    return {
        **options,
        "total": round(total, 2),
        "learning": round(learning, 2),
        "fusion": round(run.seconds, 2),
        "beside learning": round(total - learning, 2),
        "wall": round(wall, 1),
        "wall of the tables": round(run.wall_seconds["tables"], 1),
    }


def _cpu_seconds() -> float:
    times = os.times()
    return time.process_time() + times.children_user + times.children_system


def main(
    network: Annotated[str, typer.Option(help="A network of the catalogue.")] = "asia",
    sites: Annotated[list[int] | None, typer.Option(min=1, help="Sites; several.")] = None,
    rows: Annotated[int, typer.Option(min=1, help="Rows per site.")] = 1000,
    engine: Annotated[str, typer.Option(help="in-process or flower.")] = "in-process",
    seed: Annotated[int, typer.Option(min=0, help="Of the tables.")] = 1,
) -> None:
    """Print one JSON line per number of sites."""
    for number in sites or [500]:
        print(json.dumps(measure(network, number, rows, engine, seed)), flush=True)


if __name__ == "__main__":
    typer.run(main)
