"""Appendix B of the MCBNC paper: does the consensus find the DAG behind perturbed inputs?

For every n, r and seed: r inputs around a random base DAG (`walk.py`, or `--generator changes`),
the complete path, and SMHD to the base over θ for both readings. `search` is Algorithm 1, and the
one that the target is about: a median over the seeds of at most 1 at θ = 0.5 for n, r >= 30. θ is
inclusive: deletions with Ψ <= θ are done. For comparison: the mean SMHD of the inputs to the base,
and that of the majority vote over edges.

Finished runs are kept in the CSV file, whole, so a study that was stopped goes on where it was.
"""

from __future__ import annotations

import csv
import io
from bisect import bisect_right
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from fedbn.consensus.mcbnc import mcbnc_path
from fedbn.consensus.threshold import path_states
from fedbn.fusion.baselines import edge_vote
from fedbn.graphs.distances import smhd
from fedbn.whole_file import write_whole
from simulations.benchmarks.consensus.inputs import around_random

THETAS = [Fraction(k, 20) for k in range(31)]
HALF = Fraction(1, 2)


class Point(NamedTuple):
    """SMHD to the base of one state; reading: search, refusion, or inputs and vote (any θ)."""

    n: int
    r: int
    seed: int
    reading: str
    theta: float
    edges: float
    smhd: float


def run(generator: str, n: int, r: int, seed: int) -> list[Point]:
    """All points of one set of inputs."""
    inputs = around_random(generator, n, r, None, seed)
    base = inputs.base
    assert base is not None
    path = mcbnc_path(inputs.dags)
    points = []
    for reading in ("search", "refusion"):
        states = path_states(path, reading)
        ends = [Fraction(-1) if s.theta is None else s.theta for s in states]
        distance: dict[int, int] = {}
        for theta in THETAS:
            at = bisect_right(ends, theta) - 1
            if at not in distance:
                distance[at] = smhd(states[at].dag, base)
            edges = states[at].n_edges
            points.append(Point(n, r, seed, reading, float(theta), edges, distance[at]))
    vote = edge_vote(inputs.dags, threshold=HALF)
    points.append(Point(n, r, seed, "vote", 0.5, vote.n_edges, smhd(vote, base)))
    mean_edges = float(np.mean([dag.n_edges for dag in inputs.dags]))
    mean_smhd = float(np.mean([smhd(dag, base) for dag in inputs.dags]))
    points.append(Point(n, r, seed, "inputs", 0.5, mean_edges, mean_smhd))
    return points


def study(
    generator: str,
    sizes: Sequence[tuple[int, int]],
    seeds: int,
    file: Path,
    progress: Callable[[int, int, str], None],
) -> list[Point]:
    """The points of all runs; those that `file` has are not run again."""
    points = _read(file)
    done = {(p.n, p.r, p.seed) for p in points}
    wanted = [(n, r, seed) for n, r in sizes for seed in range(seeds)]
    for k, (n, r, seed) in enumerate(wanted):
        progress(k, len(wanted), f"n = {n}, r = {r}, seed {seed}")
        if (n, r, seed) not in done:
            points += run(generator, n, r, seed)
            _write(points, file)
    progress(len(wanted), len(wanted), "done")
    return [p for p in points if (p.n, p.r, p.seed) in set(wanted)]


def _read(file: Path) -> list[Point]:
    if not file.exists():
        return []
    with file.open(newline="", encoding="utf-8") as stream:
        return [
            Point(
                int(row["n"]),
                int(row["r"]),
                int(row["seed"]),
                row["reading"],
                float(row["theta"]),
                float(row["edges"]),
                float(row["smhd"]),
            )
            for row in csv.DictReader(stream)
        ]


def _write(points: Sequence[Point], file: Path) -> None:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([Point._fields, *points])
    write_whole(file, text.getvalue())


def medians(points: Sequence[Point]) -> list[dict[str, float]]:
    """One row per n and r: median SMHD to the base over the seeds, at θ = 0.5."""
    rows = []
    for n, r in sorted({(p.n, p.r) for p in points}):
        row: dict[str, float] = {"n": n, "r": r}
        for reading in ("inputs", "vote", "search", "refusion"):
            values = [
                p.smhd
                for p in points
                if (p.n, p.r, p.reading, p.theta) == (n, r, reading, float(HALF))
            ]
            row[reading] = median(values)
            if reading == "search":
                row["seeds"], row["worst"] = len(values), max(values)
        rows.append(row)
    return rows


def draw(points: Sequence[Point], file: Path) -> None:
    """Median SMHD to the base over θ: a panel per n, a line per r; the quartiles in pale."""
    sizes = sorted({p.n for p in points})
    figure = Figure(figsize=(3.2 * len(sizes), 3.4), layout="constrained")
    panels = figure.subplots(1, len(sizes), squeeze=False)[0]
    for axes, n in zip(panels, sizes, strict=True):
        for r in sorted({p.r for p in points if p.n == n}):
            found = [p for p in points if (p.n, p.r, p.reading) == (n, r, "search")]
            thetas = sorted({p.theta for p in found})
            values = np.array([[p.smhd for p in found if p.theta == theta] for theta in thetas])
            low, middle, high = np.percentile(values, [25, 50, 75], axis=1)
            (line,) = axes.plot(thetas, middle, label=f"r = {r}")
            axes.fill_between(thetas, low, high, alpha=0.2, color=line.get_color(), linewidth=0)
        axes.axvline(float(HALF), color="0.6", linewidth=0.8, linestyle="--")
        axes.set_yscale("symlog", linthresh=1)
        axes.set_ylim(bottom=0)
        axes.set_title(f"n = {n}")
        axes.set_xlabel("θ")
    panels[0].set_ylabel("SMHD to the base DAG")
    panels[-1].legend()
    figure.savefig(file, dpi=150)
