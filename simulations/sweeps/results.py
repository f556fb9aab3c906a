"""What a case gives, and the table of all cases: one tidy row each, as CSV and Parquet."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from io import BytesIO
from pathlib import Path
from typing import Any

from fedbn.errors import FedbnError
from fedbn.federation.run_config import from_run_config, to_run_config, typed_values
from fedbn.results.outcome import Outcome
from fedbn.results.summary import Summary, summarise
from fedbn.whole_file import write_whole
from simulations.sweeps.plan import SweepCase

CASE = "case"
"""The key of a case's hash."""

_LEFT_OUT = ("remarks",)


@dataclass(frozen=True)
class RunCase:
    """Runs a case that it knows by its hash, in this process or another.

    Attributes
    ----------
    configs : hash -> flat run config.
    """

    configs: Mapping[str, Mapping[str, Any]]

    @classmethod
    def of(cls, cases: Sequence[SweepCase]) -> RunCase:
        """For these cases."""
        return cls({case.digest: to_run_config(case.experiment) for case in cases})

    def __call__(self, case: Mapping[str, Any]) -> Mapping[str, Any]:
        """The figures of the case; an error of fedbn is its result, too."""
        try:
            return {"error": None, **_figures(self.configs[case[CASE]])}
        except FedbnError as error:
            return {"error": f"{type(error).__name__}: {error}"}


def _figures(config: Mapping[str, Any]) -> dict[str, Any]:
    from fedbn.federation.grouped_sums import GroupedSums
    from fedbn.federation.state import FederationResult
    from fedbn.results.sums import outcome_of_sums
    from simulations.commands.simulate_output import truth_of, with_held_out
    from simulations.run import run_experiment

    experiment = replace(from_run_config(config), engine="in-process")
    truth = truth_of(experiment, None)
    run = run_experiment(experiment, gold=truth)
    assert not isinstance(run.result, GroupedSums)  # a plan refuses them, and moral-votes
    outcome = (
        Outcome.of_federation(run.result, truth)
        if isinstance(run.result, FederationResult)
        else outcome_of_sums(run.result, truth)
    )
    assert outcome is not None
    summary = summarise(with_held_out(outcome, run, experiment))
    figures = {
        name: _plain(getattr(summary, name))
        for name in Summary.__dataclass_fields__
        if name not in _LEFT_OUT
    }
    edges = json.dumps(outcome.consensus.dag.edges)
    return {**figures, "consensus": hashlib.sha256(edges.encode()).hexdigest()}


def _plain(value: Any) -> Any:
    return float(value) if isinstance(value, Fraction) else value


def tidy_rows(
    cases: Sequence[SweepCase], rows: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Rows with the values of all settings that some case varies, also where it was not said.

    A setting that has the name of a figure, like `reading`, is the column `setting-reading`.
    """
    by_digest = {
        case.digest: {**case.varied, **typed_values(to_run_config(case.experiment))}
        for case in cases
    }
    keys = dict.fromkeys(key for case in cases for key in case.varied)
    figures = {name.replace("_", "-") for name in Summary.__dataclass_fields__}
    columns = {key: f"setting-{key}" if key in figures else key for key in keys}
    return [
        {
            CASE: row[CASE],
            **{columns[key]: _cell(by_digest[row[CASE]].get(key)) for key in keys},
            **row,
        }
        for row in rows
    ]


def _cell(value: Any) -> Any:
    return " ".join(value) if isinstance(value, tuple) else value


def write_tables(folder: Path, rows: Sequence[Mapping[str, Any]]) -> tuple[Path, Path]:
    """`results.csv` and `results.parquet`, one row per case in the order of the plan.

    Raises ResultsError when they cannot be written.
    """
    import pandas as pd

    frame = pd.DataFrame(list(rows))
    for name in frame.columns:
        present = frame[name].dropna()
        if present.map(type).nunique() > 1 and present.map(type).eq(str).any():
            frame[name] = [None if pd.isna(value) else str(value) for value in frame[name]]
    csv, parquet = folder / "results.csv", folder / "results.parquet"
    write_whole(csv, frame.to_csv(index=False).encode("utf-8"))
    whole = BytesIO()
    frame.to_parquet(whole, index=False)
    write_whole(parquet, whole.getvalue())
    return csv, parquet
