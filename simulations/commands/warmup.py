"""`fedbn warmup`: compiles the kernels of the common commands, once for this machine.

A door is a kernel that Python calls, with all that it calls. Doors are compiled in processes of
their own, at the same time; numba keeps them on disk.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from simulations.compilation import kernels_below, tell_of_kernels
from simulations.options import Json, Quiet
from simulations.progress import say_start, stages

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


def kernels_of_doors() -> dict[str, list[Any]]:
    """Per door the kernels that Python calls behind it; the last one is compiled last."""
    from fedbn.consensus import _best_deletion_kernels, _direction_kernels, _state_kernels
    from fedbn.fusion import _imap_kernels, _order_kernels
    from fedbn.graphs import _bit_kernels, _cpdag_kernels
    from fedbn.scores import _preparation_kernels
    from fedbn.search import _greedy_kernels

    return {
        "learn": [
            _preparation_kernels.merge_rows,
            _preparation_kernels.state_bitmaps,
            _preparation_kernels.rows_outside_modes,
            _cpdag_kernels.cpdag_bits,
            _greedy_kernels.settle,
            _greedy_kernels.total,
            _greedy_kernels.climb,
        ],
        "fuse: deletions": [
            _bit_kernels.transpose_bits,
            _cpdag_kernels.cpdag_bits,
            _imap_kernels.imaps_bits,
            _order_kernels.extend_order,
            _best_deletion_kernels.prepare,
            _best_deletion_kernels.advance,
        ],
        "fuse: readings": [
            _direction_kernels.reverse_covered,
            _state_kernels.moral_votes,
            _state_kernels.vote_sums,
            _state_kernels.search_states,
            _state_kernels.smhd_sums,
            _state_kernels.class_votes,
            _state_kernels.shd_sums,
            _state_kernels.refusion_states,
        ],
    }


def doors_to_compile() -> list[str]:
    """The doors whose kernels are not compiled for this machine yet."""
    from fedbn.kernel_door import is_compiled

    return [door for door, kernels in kernels_of_doors().items() if not is_compiled(kernels[-1])]


def warmup(
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Processes at once.", show_default="one per core")
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compile for this machine, once, what learn and fuse need; else they do when first called."""
    started = time.monotonic()
    say_start("looking for what is compiled for this machine", not (quiet or as_json))
    wanted = doors_to_compile()
    took: dict[str, float] = {}
    with stages(not (quiet or as_json), compiles=True) as notify:
        if wanted:
            notify("compiling for this machine, once: kernels")
        for door, seconds in _compile(wanted, jobs or os.cpu_count() or 1, notify.count):
            took[door] = seconds
    if as_json:
        from simulations.terminal import print_json

        print_json({"seconds": took})
    elif not quiet:
        seconds = time.monotonic() - started
        words = f"Compiled for this machine in {seconds:.0f} s: {', '.join(took)}."
        typer.echo(words if took else "All is compiled for this machine.", err=True)


def _compile(
    doors: Sequence[str], jobs: int, count: Callable[[int, int], None]
) -> Iterator[tuple[str, float]]:
    """Every door as it is done, and its seconds; `count` hears of kernels meanwhile."""
    if not doors:
        return
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor, wait

    calls = kernels_of_doors()
    sizes = [len(kernels_below(calls[door])) for door in doors]
    spawning = multiprocessing.get_context("spawn")
    done = spawning.Array("i", len(doors))
    with ProcessPoolExecutor(
        min(jobs, len(doors)), mp_context=spawning, initializer=_share, initargs=(done,)
    ) as pool:
        waiting = {pool.submit(_seconds_of, place, door) for place, door in enumerate(doors)}
        while waiting:
            ended, waiting = wait(waiting, timeout=0.5)
            count(sum(map(min, done[:], sizes)), sum(sizes))
            for each in ended:
                place, seconds = each.result()
                done[place] = sizes[place]
                yield doors[place], seconds


_counts: Any = None
"""In a process that compiles: how many kernels of every door are done, shared with the parent."""


def _share(counts: Any) -> None:
    global _counts
    _counts = counts


def _seconds_of(place: int, door: str) -> tuple[int, float]:
    def tell(n_kernels: int) -> None:
        _counts[place] = n_kernels

    began = time.perf_counter()
    with tell_of_kernels(tell):
        DOORS[door]()
    return place, time.perf_counter() - began
