"""The command `fedbn reproduce strengths`."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from simulations.studies.parts import Asked, StudyPart, study_command
from simulations.study_cases import study_settings


@study_command(
    "Strengths of edges",
    seeds=3,
    parts={
        "tuning": "networks to which the constants were fitted",
        "shown": "other networks",
        "counted": "summed counts of the sites, resampled",
    },
)
def reproduce_strengths(asked: Asked) -> dict[str, StudyPart]:
    """Measure the share of true edges among those with a strength of, for example, 80 %."""
    from simulations.studies.strengths.cases import PARTS, cases
    from simulations.studies.strengths.report import sections
    from simulations.studies.strengths.runs import run_case

    settings = study_settings(Path(__file__).parent, asked.smoke)
    return {
        name: StudyPart(cases(name, settings, asked.seeds), run_case, partial(sections, name))
        for name in PARTS
    }
