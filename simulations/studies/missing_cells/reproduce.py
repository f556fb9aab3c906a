"""The command `fedbn reproduce missing-cells`."""

from __future__ import annotations

from pathlib import Path

from simulations.studies.parts import Asked, StudyPart, study_command
from simulations.study_cases import study_settings


@study_command("Missing cells", seeds=40)
def reproduce_missing_cells(asked: Asked) -> dict[str, StudyPart]:
    """Measure how far structures of imputed tables are from those of complete tables, and how much
    time imputing takes."""
    from simulations.studies.missing_cells.report import sections
    from simulations.studies.missing_cells.runs import cases, run_case

    settings = study_settings(Path(__file__).parent, asked.smoke)
    return {"missing cells": StudyPart(cases(settings, asked.seeds), run_case, sections)}
