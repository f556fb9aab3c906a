"""The command `fedbn reproduce strengths`."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from fedbn.errors import ConfigError
from simulations.studies.parts import Asked, StudyPart, study_command
from simulations.study_cases import study_settings


@study_command(
    "Strengths of edges",
    parts={
        "tuning": "networks to which the constants were fitted",
        "test": "other networks, of a folder",
        "counted": "summed counts of the sites, resampled",
    },
    folder=True,
)
def reproduce_strengths(asked: Asked) -> dict[str, StudyPart]:
    """Measure the share of true edges among those with a strength of, for example, 80 %.

    For the part test, --network-dir must name a folder with the networks of the R package bnRep.
    Without it, that part has no cases.
    """
    from fedbn.networks.catalog import networks_in
    from simulations.studies.strengths.cases import PARTS, cases, family_of
    from simulations.studies.strengths.report import sections
    from simulations.studies.strengths.runs import run_case

    if asked.part == "test" and asked.network_dir is None:
        raise ConfigError("the part test needs --network-dir, a folder with the networks of bnRep")
    settings = study_settings(Path(__file__).parent, asked.smoke)
    here = () if asked.network_dir is None else networks_in(asked.network_dir)
    run = partial(run_case, network_dir=asked.network_dir)
    families = family_of(settings)
    return {
        name: StudyPart(cases(name, settings, here), run, partial(sections, name, families))
        for name in PARTS
    }
