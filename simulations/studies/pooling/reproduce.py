"""The command `fedbn reproduce pooling`."""

from __future__ import annotations

from functools import partial

from simulations.studies.parts import Asked, StudyPart, study_command


@study_command(
    "As good as pooling",
    seeds=10,
    parts={
        "alike": "sites that sample one network",
        "differing": "sites with parameters of their own",
        "mixed": "half of the mechanisms shared",
        "sites": "more and fewer sites",
        "learners": "other learners",
        "divided": "rows divided by latent clusters",
        "untuned": "networks on which nothing was set, beside the best pooled learner",
    },
    fresh=True,
)
def reproduce_pooling(asked: Asked) -> dict[str, StudyPart]:
    """Measure what is lost by not pooling: structures alone, counts, a climb, pooled rows."""
    from simulations.studies.pooling.cases import PARTS, cases
    from simulations.studies.pooling.report import sections
    from simulations.studies.pooling.runs import run_case

    return {
        name: StudyPart(
            cases(name, smoke=asked.smoke, seeds=asked.seeds or 10, first_seed=asked.first_seed),
            run_case,
            partial(sections, name, folder=asked.out),
        )
        for name in PARTS
    }
