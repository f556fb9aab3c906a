"""The command `fedbn reproduce real-tables`."""

from __future__ import annotations

from pathlib import Path

from simulations.studies.parts import Asked, StudyPart, study_command
from simulations.study_cases import study_settings


@study_command(
    "Tables of numbers and categories",
    seeds=10,
    parts={
        "sites": "ten sites whose laboratories agree, or are shifted",
        "sums": "the same, where sums of products choose",
        "blind": "dependences that covariances do not show",
    },
)
def reproduce_real_tables(asked: Asked) -> dict[str, StudyPart]:
    """Compare mixed-bic with cutting the numbers, on tables of numbers and categories."""
    from simulations.studies.real_tables.report import (
        blind_sections,
        site_sections,
        sum_sections,
    )
    from simulations.studies.real_tables.runs import (
        blind_cases,
        run_case,
        run_sums,
        site_cases,
        sum_cases,
    )

    settings = study_settings(Path(__file__).parent, asked.smoke)
    return {
        "sites": StudyPart(site_cases(settings, asked.seeds), run_case, site_sections),
        "sums": StudyPart(sum_cases(settings, asked.seeds), run_sums, sum_sections),
        "blind": StudyPart(blind_cases(settings, asked.seeds), run_case, blind_sections),
    }
