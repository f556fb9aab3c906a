"""The command `fedbn reproduce different-variables`."""

from __future__ import annotations

from pathlib import Path

from simulations.studies.parts import Asked, StudyPart, study_command
from simulations.study_cases import study_settings

PARTS = {
    "structures": "what is lost, against padding, votes and pair judges",
    "counts": "structures alone, counts and climb",
}


@study_command(
    "Sites with different variables", seeds=10, parts=PARTS, filters=("network", "sites")
)
def reproduce_different_variables(asked: Asked) -> dict[str, StudyPart]:
    """Measure what is lost where sites lack variables, against padding, votes and pair judges,
    and what choosing by counts adds."""
    from simulations.studies.different_variables.counts import (
        count_cases,
        count_sections,
        run_count_case,
    )
    from simulations.studies.different_variables.report import sections
    from simulations.studies.different_variables.runs import cases, run_case

    settings = study_settings(Path(__file__).parent, asked.smoke)
    return {
        "structures": StudyPart(cases(settings, asked.seeds), run_case, sections),
        "counts": StudyPart(count_cases(settings, asked.seeds), run_count_case, count_sections),
    }
