"""The cases of a study that have no row yet: run one after the other, or in processes."""

from __future__ import annotations

import math
import os
import platform
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from fedbn.errors import ConfigError

Case = Mapping[str, Any]
Row = dict[str, Any]
Run = Callable[[Case], Mapping[str, Any]]
Cost = Callable[[Case], float]


class Tick(NamedTuple):
    """How far a study is: cases, and seconds of wall clock until its end, None if not known."""

    done: int
    total: int
    seconds_left: float | None = None


def study_settings(folder: Path, smoke: bool) -> dict[str, Any]:
    """The experiment.toml of a study's folder; with `smoke` the smaller values of its last part."""
    content = tomllib.loads((folder / "experiment.toml").read_text(encoding="utf-8"))
    small = content.pop("smoke")
    for part, values in small.items() if smoke else ():
        content[part] |= values
    return content


def run_cases(
    cases: Sequence[Case],
    run: Run,
    jobs: int,
    cost: Cost | None,
    seconds: float | None,
    ray_address: str | None = None,
) -> Iterator[tuple[int, Row, float | None]]:
    """Each case as it ends: its place, its row, and the seconds that the others will take.

    Parameters
    ----------
    jobs : processes; 1: this one, and the cases in their order. With more, the most expensive
        cases begin first, so that all processes end together, and `run` must be picklable.
    cost : relative cost of a case, > 0; all equal by default.
    seconds : begin no more cases after so many seconds of wall clock; the others are left out.
    ray_address : a Ray cluster that runs the cases in place of processes here.

    Raises
    ------
    ConfigError : jobs is below 1; there is no such Ray cluster, or a node has other versions. What
        `run` raises ends everything.
    """
    if jobs < 1:
        raise ConfigError(f"the number of jobs must be at least 1, not {jobs}")
    began = time.monotonic()
    costs = [1.0 if cost is None else cost(case) for case in cases]
    spent = 0.0
    end = began + (math.inf if seconds is None else seconds)
    for place, row in _ending(cases, run, jobs, costs, end, ray_address):
        spent += costs[place]
        left = (math.fsum(costs) - spent) * (time.monotonic() - began) / spent
        yield place, row, left


def _ending(
    cases: Sequence[Case],
    run: Run,
    jobs: int,
    costs: Sequence[float],
    end: float,
    ray_address: str | None,
) -> Iterator[tuple[int, Row]]:
    if ray_address is not None and cases:
        from simulations.ray_cluster import on_cluster

        order = _dearest_first(costs)
        ended = on_cluster(ray_address, _row, run, cases, order, end)
        return ((place, _of_same_versions(row)) for place, row in ended)
    return (_in_turn if jobs == 1 else _in_processes)(cases, run, jobs, costs, end)


def _of_same_versions(row: Row) -> Row:
    """Refuse a row of another node that may have other bytes."""
    for name, here in origin().items():
        if name != "machine" and row[name] != here:
            raise ConfigError(
                f"all nodes must have {name} {here}, but one of the Ray cluster has {row[name]!r}"
            )
    return row


def _dearest_first(costs: Sequence[float]) -> list[int]:
    """Places of the cases, so that all processes end together."""
    return sorted(range(len(costs)), key=lambda place: -costs[place])


def _in_turn(
    cases: Sequence[Case], run: Run, jobs: int, costs: Sequence[float], end: float
) -> Iterator[tuple[int, Row]]:
    for place, case in enumerate(cases):
        if time.monotonic() >= end:
            return
        yield place, _row(run, case)


def _in_processes(
    cases: Sequence[Case], run: Run, jobs: int, costs: Sequence[float], end: float
) -> Iterator[tuple[int, Row]]:
    """At most two cases a process are handed out ahead, so that the end is kept."""
    from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
    from multiprocessing import get_context

    waiting = _dearest_first(costs)[::-1]
    running: dict[Future[Row], int] = {}
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        try:
            while waiting or running:
                while waiting and len(running) < 2 * jobs and time.monotonic() < end:
                    place = waiting.pop()
                    running[pool.submit(_row, run, cases[place])] = place
                if not running:
                    return
                done = wait(running, return_when=FIRST_COMPLETED).done
                for future in sorted(done, key=lambda each: each.exception() is not None):
                    yield running.pop(future), future.result()
        finally:
            pool.shutdown(cancel_futures=True)


def _row(run: Run, case: Case) -> Row:
    began = time.process_time()
    result = dict(run(case))
    spent = round(time.process_time() - began, 4)
    return dict(case) | result | {"cpu_seconds": spent} | origin()


@cache
def origin() -> dict[str, str]:
    """Versions and machine on which rows are made."""
    from importlib.metadata import version

    packages = {name: version(name) for name in ("fedbn", "numpy")}
    machine = f"{os.cpu_count()} cores, {_processor()}"
    return packages | {"python": platform.python_version(), "machine": machine}


def _processor() -> str:
    """The processor's model where the system says it, else its kind."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.is_file() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.machine()
