"""The command `fedbn reproduce groups`."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from simulations.studies.parts import Asked, StudyPart, study_command
from simulations.study_cases import study_settings


@study_command(
    "Groups of sites",
    seeds=10,
    fresh=True,
    parts={
        "alike": "sites of one population (false alarms)",
        "groups": "two and three populations",
        "different": "every site its own",
        "several": "several structures of every site",
        "alike-lacking": "sites of one population that lack variables (false alarms)",
        "groups-lacking": "two populations, sites lack variables",
        "several-lacking": "the same, several structures of every site",
    },
)
def reproduce_groups(asked: Asked) -> dict[str, StudyPart]:
    """Measure whether groups of sites are found, the false alarms, and what groups gain.

    In cases of 0 rows, sites have different numbers of rows.
    """
    from simulations.studies.groups.cases import PARTS, cases
    from simulations.studies.groups.report import sections
    from simulations.studies.groups.runs import run_case

    settings = study_settings(Path(__file__).parent, asked.smoke)
    return {
        name: StudyPart(
            cases(name, settings, asked.seeds, asked.first_seed), run_case, partial(sections, name)
        )
        for name in PARTS
    }
