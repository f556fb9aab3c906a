"""The command `fedbn reproduce different-variables`."""

from __future__ import annotations

from pathlib import Path

from simulations.studies.parts import Asked, StudyPart, study_command
from simulations.study_cases import study_settings


@study_command("Sites with different variables", seeds=10, filters=("network", "sites"))
def reproduce_different_variables(asked: Asked) -> dict[str, StudyPart]:
    """What is lost where sites lack variables, against padding, votes and pair judges."""
    from simulations.studies.different_variables.report import sections
    from simulations.studies.different_variables.runs import cases, run_case

    settings = study_settings(Path(__file__).parent, asked.smoke)
    return {"different variables": StudyPart(cases(settings, asked.seeds), run_case, sections)}
