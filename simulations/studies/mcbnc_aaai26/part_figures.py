"""Figures of the parts beside the grid: run time, appendix B, k_max, and beyond the paper."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from simulations.studies.mcbnc_aaai26.panels import (
    COLOURS,
    INPUTS,
    LABELS,
    legend,
    panels,
    save,
    step,
)
from simulations.studies.mcbnc_aaai26.selection import cells_of, groups, mean, of_part
from simulations.studies.mcbnc_aaai26.synthetic import THETAS
from simulations.study_cases import Row


def _runtime(rows: Sequence[Row], order: Sequence[str], reading: str, folder: Path) -> str:
    some = groups(of_part(rows, "runtime"), "network")
    figure, axes = panels(len(some))
    for panel, ((network,), every) in zip(axes, some.items(), strict=True):
        for (method,), found in groups(every, "method").items():
            line = sorted((row["r"], row["seconds"]) for row in found)
            panel.plot(
                *zip(*line, strict=True), marker="o", markersize=3, linewidth=1, label=method
            )
        panel.set_yscale("log")
        panel.set_title(network, fontsize=9)
        panel.set_xlabel("r")
    axes[0].set_ylabel("CPU seconds")
    legend(figure, axes[0])
    return save(figure, folder / "figure-4.png")


def _synthetic(rows: Sequence[Row], order: Sequence[str], reading: str, folder: Path) -> str:
    some = of_part(rows, "synthetic")
    sizes = sorted({row["n"] for row in some})
    figure, axes = panels(2 * len(sizes), columns=len(sizes))
    for k, what in ((1, "mean SMHD to the inputs"), (0, "SMHD to the base")):
        for place, n in enumerate(sizes):
            panel = axes[place + (0 if k else len(sizes))]
            for (r,), found in sorted(groups([x for x in some if x["n"] == n], "r").items()):
                values = np.median([[p[k] for p in row["search"]] for row in found], axis=0)
                thetas = [None, *map(float, THETAS)]
                style = {"color": COLOURS.get(r, "grey"), "linewidth": 1, "label": f"r = {r}"}
                step(panel, list(zip(thetas, values.tolist(), strict=True)), **style)
            panel.set_yscale("symlog", linthresh=1)
            panel.set_ylim(bottom=0)
            panel.set_title(f"n = {n}", fontsize=9)
            panel.set_xlabel("θ")
        axes[0 if k else len(sizes)].set_ylabel(what)
    legend(figure, axes[0])
    return save(figure, folder / "figure-b1.png")


def _k_max(rows: Sequence[Row], order: Sequence[str], reading: str, folder: Path) -> str:
    """C14 above, C16 in the middle (a panel per r), C15 below."""
    some = of_part(rows, "k-max")
    by_k = {
        k: cells_of([*of_part(rows, "rivals"), *found], list(order), "k-max")
        for (k,), found in sorted(groups(some, "k_max").items())
    }
    sizes = sorted({cell.r for cells in by_k.values() for cell in cells})
    figure, axes = panels(3 * len(sizes), columns=len(sizes))
    for place, r in enumerate(sizes):
        chosen = []
        for shade, (k, cells) in enumerate(by_k.items()):
            for cell in cells:
                if cell.r == r:
                    style: dict[str, Any] = {
                        "color": str(0.85 - 0.8 * shade / max(1, len(by_k) - 1)), "linewidth": 1,
                        "label": f"k_max = {k}",
                    }  # fmt: skip
                    step(axes[place], cell.curve(reading, "smhd_gold"), **style)
                    step(axes[place + len(sizes)], cell.clock(), **style)
                    chosen.append(
                        (k, cell.at_choice(reading, "smhd_gold"), cell.of("inputs", "smhd_gold"))
                    )
        ks, ours, inputs = zip(*chosen, strict=True)
        axes[place + 2 * len(sizes)].plot(ks, ours, marker="o", markersize=3, linewidth=1)
        for row in (0, 2):
            axes[place + row * len(sizes)].axhline(inputs[0], color=INPUTS, linestyle=":")
        axes[place].set_title(f"r = {r}", fontsize=9)
        axes[place + 2 * len(sizes)].set_xlabel("k_max")
    for row, label in enumerate(("SMHD to the truth, θ", "CPU seconds, θ", "SMHD at the chosen θ")):
        axes[row * len(sizes)].set_ylabel(label)
    legend(figure, axes[0])
    return save(figure, folder / "figure-c14-c16.png")


def _non_iid(rows: Sequence[Row], order: Sequence[str], reading: str, folder: Path) -> str:
    """SMHD to the truth by method over the splits, the mean over the seeds."""
    some = groups(of_part(rows, "non-iid"), "network")
    figure, axes = panels(len(some), width=4.0, columns=4)
    methods = ("inputs", "best input", "vote 1/2", "search", "refusion", "pooled rows")
    for panel, ((network,), every) in zip(axes, some.items(), strict=True):
        splits = sorted(
            groups(every, "split", "alpha").items(), key=lambda item: _strength(*item[0])
        )
        for method in methods:
            values = [mean([row["smhd"][method] for row in found]) for _, found in splits]
            panel.plot(
                range(len(splits)), values, marker="o", markersize=3, linewidth=1, label=method
            )
        names = [split if alpha is None else f"{split} {alpha:g}" for (split, alpha), _ in splits]
        panel.set_xticks(range(len(splits)), names, rotation=60, fontsize=7)
        panel.set_title(network, fontsize=9)
    axes[0].set_ylabel(LABELS["smhd_gold"])
    legend(figure, axes[0])
    return save(figure, folder / "non-iid.png")


def _strength(split: str, alpha: float | None) -> tuple[str, float]:
    return (" " + split if alpha is None else split), -(alpha or 0.0)


def _robust(rows: Sequence[Row], order: Sequence[str], reading: str, folder: Path) -> str:
    some = groups(of_part(rows, "robust"), "network", "kind")
    figure, axes = panels(len(some), columns=max(1, len({kind for _, kind in some})))
    for panel, ((network, kind), every) in zip(axes, some.items(), strict=True):
        for (pooling,), found in groups(every, "pooling").items():
            line = sorted((row["hostile"], row["smhd"]["search"]) for row in found)
            panel.plot(
                *zip(*line, strict=True), marker="o", markersize=3, linewidth=1, label=pooling
            )
        votes = sorted({(row["hostile"], row["smhd"]["vote 1/2"]) for row in every})
        panel.plot(*zip(*votes, strict=True), color="grey", linestyle=":", label="vote 1/2")
        panel.set_title(f"{network}, {kind}", fontsize=9)
        panel.set_xlabel("hostile inputs of 10")
        panel.set_ylim(bottom=0)
    axes[0].set_ylabel("SMHD to the truth, search")
    legend(figure, axes[0])
    return save(figure, folder / "robust.png")


PARTS: dict[str, Callable[[Sequence[Row], Sequence[str], str, Path], str]] = {
    "runtime": _runtime,
    "synthetic": _synthetic,
    "k-max": _k_max,
    "non-iid": _non_iid,
    "robust": _robust,
}
