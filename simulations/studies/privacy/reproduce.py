"""The command `fedbn reproduce privacy`."""

from __future__ import annotations

from functools import partial

from simulations.studies.parts import Asked, StudyPart, study_command


@study_command(
    "Privacy of structures",
    parts={
        "utility": "what privacy costs",
        "sums": "secure sums",
        "attacks": "what structures leak",
        "audit": "audits of private learners",
    },
    filters=(),
)
def reproduce_privacy(asked: Asked) -> dict[str, StudyPart]:
    """Measure what privacy costs, what structures leak without it, and which claims hold."""
    from simulations.studies.privacy.audits import run_audit
    from simulations.studies.privacy.cases import (
        audit_cases,
        leak_cases,
        settings,
        sum_cases,
        utility_cases,
    )
    from simulations.studies.privacy.leaks import run_leaks
    from simulations.studies.privacy.report import (
        audit_sections,
        leak_sections,
        sum_sections,
        utility_sections,
    )
    from simulations.studies.privacy.utility import run_sums, run_utility

    run = settings(asked.smoke)
    utility = partial(utility_sections, folder=asked.out)
    leaks = partial(leak_sections, folder=asked.out)
    return {
        "utility": StudyPart(utility_cases(run), run_utility, utility),
        "sums": StudyPart(sum_cases(run), run_sums, sum_sections),
        "attacks": StudyPart(leak_cases(run), run_leaks, leaks),
        "audit": StudyPart(audit_cases(run), run_audit, audit_sections),
    }
