"""The cases of a sweep, from a TOML file.

    network = "asia"              # what all cases share, as in a file for --config
    clients = 5

    [grid]                        # every combination of these
    rows = [200, 1000]
    learner = ["ges", "xges"]
    seed = [1, 2, 3]

    [[case]]                      # and, for each of them, every one of these
    row-weight = 1
    [[case]]
    row-weight = "ladder"
    choose = "counts"

A case is its settings, all of them, with the bytes of the files that they name: its hash says
whether it was run before, whatever the file calls it and in whatever order.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fedbn.bounded_file import read_toml
from fedbn.errors import ConfigError
from fedbn.federation.run_config import to_run_config, typed_values
from fedbn.federation.settings import Experiment, all_settings
from fedbn.results.record import FILES, hash_files
from simulations.experiment import (
    experiment_from,
    locate_files,
    with_absolute_paths,
)

MAX_CASES = 100_000
"""A grid of more is a slip of the pen."""

_LOCAL = tuple(each.key for _, each in all_settings() if each.local)
_ELSEWHERE = ("out-dir", "checkpoint", "resume", *_LOCAL)
"""Settings that say where something is written or how it is run: they are no part of a case."""


@dataclass(frozen=True)
class SweepCase:
    """One simulation of a sweep.

    Attributes
    ----------
    varied : key -> value of the settings that the file varies, for the columns of the results.
    experiment : all settings, with absolute paths.
    digest : SHA-256 (hex) of the settings that change a byte of the result, and of their files.
    """

    varied: Mapping[str, Any]
    experiment: Experiment
    digest: str


def read_plan(path: Path) -> tuple[SweepCase, ...]:
    """The cases of a file, the last key of the grid running fastest; equal ones are there once.

    Raises
    ------
    ConfigError : the file, a key or a value is not as it must be; the case is named.
    """
    content = read_toml(path)
    grid, cases = content.pop("grid", {}), content.pop("case", [])
    _check(path, content, grid, cases)
    found: dict[str, SweepCase] = {}
    for varied in _combinations(path, grid, cases):
        try:
            case = _case(locate_files({**content, **varied}, path.parent), varied)
        except ConfigError as error:
            raise ConfigError(f"{path}, case {_words(varied)}: {error}") from None
        found.setdefault(case.digest, case)
    return tuple(found.values())


def _case(settings: Mapping[str, Any], varied: Mapping[str, Any]) -> SweepCase:
    for key in _ELSEWHERE:
        if key in settings:
            raise ConfigError(f"{key} must not be in the file of a sweep: fedbn sweep sets it")
    experiment = with_absolute_paths(experiment_from(settings))
    if not experiment.data.is_named:
        raise ConfigError("name the data: network, table, sites or sites-dir")
    if experiment.consensus.aggregation == "moral-votes":
        raise ConfigError("a sweep cannot use moral-votes: they give no structure to measure")
    if experiment.consensus.aggregation != "open" and experiment.consensus.groups_file is not None:
        raise ConfigError(
            f"groups-file is {experiment.consensus.groups_file!r}: under secure sums every group "
            "has figures of its own, and a sweep has one line for a case: sweep each group alone"
        )
    return SweepCase(varied, experiment, _digest(experiment))


def _digest(experiment: Experiment) -> str:
    """Files count by their bytes, wherever they lie; numbers by their value."""
    flat = to_run_config(experiment)
    typed = typed_values(flat)
    files = [entry for key in FILES for entry in hash_files(key, typed.get(key))]
    hashed = {entry["setting"] for entry in files}
    told = {
        key: value for key, value in flat.items() if key not in _ELSEWHERE and key not in hashed
    }
    text = json.dumps([told, files], sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _combinations(path: Path, grid: Mapping[str, Any], cases: Any) -> Iterator[dict[str, Any]]:
    total = max(1, len(cases))
    for values in grid.values():
        total *= len(values)
    if total > MAX_CASES:
        raise ConfigError(f"{path}: a sweep may have {MAX_CASES} cases, not {total}")
    for single in cases or [{}]:
        for values in itertools.product(*grid.values()):
            yield {**single, **dict(zip(grid, values, strict=True))}


def _check(path: Path, shared: Mapping[str, Any], grid: Any, cases: Any) -> None:
    for key, value in shared.items():
        if isinstance(value, dict):
            raise ConfigError(f"{path}: settings are flat, but {key!r} is a table; is it [grid]?")
    if not isinstance(grid, dict) or not all(isinstance(v, list) and v for v in grid.values()):
        raise ConfigError(f"{path}: [grid] must have a list of values for every key")
    if not isinstance(cases, list) or not all(isinstance(case, dict) for case in cases):
        raise ConfigError(f"{path}: a single case must be a table [[case]]")
    if not grid and not cases:
        raise ConfigError(f"{path}: a sweep needs a [grid] or a [[case]]")
    varied = [*grid, *(key for case in cases for key in case)]
    for key in varied:
        if key in shared:
            raise ConfigError(f"{path}: {key!r} is varied and said for all cases, too")
    for key in grid:
        if any(key in case for case in cases):
            raise ConfigError(f"{path}: {key!r} is in [grid] and in a [[case]]")


def _words(varied: Mapping[str, Any]) -> str:
    return ", ".join(f"{key}={value}" for key, value in varied.items())
