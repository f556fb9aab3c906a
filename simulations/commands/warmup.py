"""`fedbn warmup`: compiles the kernels of the common commands, once for this machine.

A door is a kernel that Python calls, with all that it calls. Doors are compiled in processes of
their own, at the same time; numba keeps them on disk.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import TYPE_CHECKING, Annotated, Any

import typer

from simulations.options import Json, Quiet

if TYPE_CHECKING:
    from fedbn.graphs.dag import DAG

__all__ = ["DOORS", "doors_to_compile", "warmup"]


def _learn() -> None:
    from fedbn.learners import LearnerSettings
    from fedbn.learners.learn import warm_up

    settings = LearnerSettings()
    warm_up(settings.learner, settings.score, settings.turning)


def _delete() -> None:
    from fedbn.consensus.mcbnc import mcbnc_paths

    mcbnc_paths(_two_structures())


def _read() -> None:
    import numpy as np

    from fedbn.consensus.path import McbncPath
    from fedbn.consensus.threshold import select_consensus
    from fedbn.fusion.inputs import merge_inputs

    dags = _two_structures()
    inputs = merge_inputs(dags)
    none = np.empty((0, 4), dtype=np.int32)
    select_consensus(
        McbncPath(
            names=inputs.names,
            order=inputs.names,
            union=dags[0],
            inputs=inputs,
            k_max=0,
            steps=(),
            lost_arcs=none,
            status="complete",
        )
    )


def _two_structures() -> list[DAG]:
    from fedbn.graphs.dag import DAG

    return [DAG.from_edges("abc", [("a", "c"), ("b", "c")]), DAG.from_edges("abc", [("a", "b")])]


DOORS: dict[str, Callable[[], None]] = {
    "learn": _learn,
    "fuse: deletions": _delete,
    "fuse: readings": _read,
}
"""What is compiled at the same time; every function runs its kernels on a tiny case."""


def doors_to_compile() -> list[str]:
    """The doors whose kernels are not compiled for this machine yet."""
    from fedbn.consensus import _best_deletion_kernels, _state_kernels
    from fedbn.kernel_cache import is_compiled
    from fedbn.search import _greedy_kernels

    last: dict[str, Callable[..., Any]] = {
        "learn": _greedy_kernels.climb,
        "fuse: deletions": _best_deletion_kernels.advance,
        "fuse: readings": _state_kernels.refusion_states,
    }
    return [door for door in DOORS if not is_compiled(last[door])]


def warmup(
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Processes at once.", show_default="one per core")
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compile for this machine, once, what learn and fuse need; else they do when first called."""
    wanted = doors_to_compile()
    if not quiet:
        words = f"Compiling for this machine, once: {', '.join(wanted)}."
        typer.echo(words if wanted else "All is compiled for this machine.", err=True)
    took: dict[str, float] = {}
    for door, seconds in _compile(wanted, jobs or os.cpu_count() or 1):
        took[door] = seconds
        if not quiet:
            typer.echo(f"{door} {seconds:.0f} s", err=True)
    if as_json:
        from simulations.terminal import print_json

        print_json({"seconds": took})


def _compile(doors: Sequence[str], jobs: int) -> Iterator[tuple[str, float]]:
    """Every door as it is done, and its seconds."""
    if not doors:
        return
    spawning = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(jobs, len(doors)), mp_context=spawning) as pool:
        for done in as_completed([pool.submit(_seconds_of, door) for door in doors]):
            yield done.result()


def _seconds_of(door: str) -> tuple[str, float]:
    began = time.perf_counter()
    DOORS[door]()
    return door, time.perf_counter() - began
