"""The cases of the study: which there are, what one costs, and what one gives."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

from simulations.studies.mcbnc_aaai26 import federations
from simulations.studies.mcbnc_aaai26.grid import run_cell
from simulations.studies.mcbnc_aaai26.inputs import input_cases, learned_input
from simulations.studies.mcbnc_aaai26.rivals import run_rivals, run_runtime
from simulations.studies.mcbnc_aaai26.synthetic import run_synthetic
from simulations.study_cases import Case, study_settings

HERE = Path(__file__).parent
Settings = dict[str, Any]


def settings(smoke: bool = False) -> Settings:
    """experiment.toml; with `smoke` its smaller values."""
    return study_settings(HERE, smoke)


def cases(run: Settings) -> Iterator[dict[str, Any]]:
    """Every case of every part."""
    yield from _of_the_paper(run)
    yield from _beyond(run)


def _of_the_paper(run: Settings) -> Iterator[dict[str, Any]]:
    grid = run["grid"]
    base = {"rows": grid["rows"], "seed": run["seed"]}
    for network, r in product(grid["networks"], grid["r"]):
        yield {"part": "rivals", "network": network, **base, "r": r}
    fixed = {"k_max": grid["k_max"], "pooling": grid["pooling"]}
    for network, r, repetition in product(grid["networks"], grid["r"], range(grid["repetitions"])):
        at = {"network": network, **base, "r": r, "repetition": repetition}
        yield {"part": "grid", **at, **fixed}
    for network, r, k_max in product(run["k-max"]["networks"], grid["r"], run["k-max"]["values"]):
        at = {"network": network, **base, "r": r, "repetition": 0}
        yield {"part": "k-max", **at, **fixed, "k_max": k_max}
    timed = run["runtime"]
    for network, r, method in product(timed["networks"], timed["r"], timed["methods"]):
        yield {"part": "runtime", "network": network, **base, "r": r, "method": method}
    walk = run["synthetic"]
    for n, r, seed in product(walk["n"], walk["r"], range(walk["seeds"])):
        yield {"part": "synthetic", "n": n, "r": r, "seed": seed}


def _beyond(run: Settings) -> Iterator[dict[str, Any]]:
    some = run["robust"]
    for network, kind, hostile, pooling in product(
        some["networks"], some["kinds"], some["hostile"], some["poolings"]
    ):
        at = {"network": network, "rows": run["grid"]["rows"], "seed": run["seed"]}
        yield {
            "part": "robust", **at, "r": some["clients"], "kind": kind, "hostile": hostile,
            "pooling": pooling,
        }  # fmt: skip
    some = run["non-iid"]
    for network, split, seed in product(some["networks"], some["splits"], range(some["seeds"])):
        graded = split in ("latent", "column")
        for alpha in some["alphas"] if graded else [None]:
            yield _clients("non-iid", some, network, seed) | {"split": split, "alpha": alpha}
    some = run["sizes"]
    for network, sizes, weights, seed in product(
        some["networks"], some["sizes"], some["weights"], range(some["seeds"])
    ):
        yield _clients("sizes", some, network, seed) | {"sizes": sizes, "weights": weights}
    for part in ("learners", "rows"):
        some = run[part]
        for network, rows, seed in product(some["networks"], some["rows"], range(some["seeds"])):
            for learner in some.get("learners", ["ges"]):
                if learner in ("optimal", "credible") and network not in some["small"]:
                    continue
                at = _clients(part, some | {"rows": rows}, network, seed)
                yield at | ({"learner": learner} if part == "learners" else {})


def _clients(part: str, some: Settings, network: str, seed: int) -> dict[str, Any]:
    fixed = {"clients": some["clients"], "rows": some["rows"]}
    return {"part": part, "network": network, **fixed, "seed": seed}


def inputs_of(wanted: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The inputs that these cases need, each once; the first ones of every network first."""
    max_r: dict[tuple[str, int, int], int] = {}
    for case in wanted:
        if "r" in case and "network" in case:
            at = (case["network"], case["rows"], case["seed"])
            max_r[at] = max(max_r.get(at, 0), case["r"])
    found = [case for at, r in max_r.items() for case in input_cases(*at, r)]
    return sorted(found, key=lambda case: case["k"])


def run_case(case: Case, folder: Path, run: Settings, network_dir: Path | None) -> dict[str, Any]:
    """The result of any case; `folder` has the inputs."""
    part = case["part"]
    if part == "inputs":
        return learned_input(case, network_dir)
    if part in ("grid", "k-max"):
        return run_cell(case, folder, run["grid"], network_dir)
    if part == "rivals":
        return run_rivals(case, folder, run["grid"], network_dir)
    if part == "runtime":
        return run_runtime(case, folder, network_dir)
    if part == "synthetic":
        return run_synthetic(case)
    if part == "robust":
        return federations.run_robust(case, folder, network_dir)
    return federations.BY_PART[part](case, network_dir)


SECONDS = {
    "asia": 0.004, "sachs": 0.011, "child": 0.02, "insurance": 0.03, "water": 0.04,
    "mildew": 0.09, "alarm": 0.04, "barley": 0.14, "hailfinder": 0.12, "hepar2": 0.1,
    "win95pts": 0.19, "pathfinder": 0.53, "andes": 1.1, "diabetes": 10.6, "pigs": 6.2,
}  # fmt: skip
"""CPU seconds of GES on 5,000 rows: what the costs of all cases are made of."""

PATH_SECONDS = {"win95pts": 0.15, "pathfinder": 0.3, "andes": 1.6, "diabetes": 2.0, "pigs": 1.0}
"""CPU seconds of a cell at r = 10; they grow like r^1.5. The others take about 0.05."""


def cost(case: Case) -> float:
    """CPU seconds that a case is expected to take, to a factor of two or so."""
    one = SECONDS.get(case.get("network", ""), 1.0)
    part, r = case["part"], case.get("r", 10)
    if part == "inputs":
        return one
    if part in ("grid", "k-max", "rivals"):
        return float(2.0 * PATH_SECONDS.get(case["network"], 0.05) * (r / 10) ** 1.5)
    if part == "runtime":
        return 0.1 if case["method"] == "mcbnc" else 80.0 * r * one
    if part == "synthetic":
        return float(case["n"] ** 2 * r**1.5 / 3e6) + 0.02
    if part == "robust":
        return 0.5
    return float(20.0 * one * case["rows"] / 5000 * (20.0 if part == "learners" else 1.0))
