"""What a site must know of a run, as a value of its own.

A site is told the settings that it learns and answers by. Whose data a simulation divides, how
replies are fused, and how a run is executed, is in no `SiteRun`: only an `Experiment` has that,
which is the server's.
"""

from __future__ import annotations

from dataclasses import dataclass

from fedbn.data.table_settings import TableSettings
from fedbn.federation.settings import Experiment, RoundSettings
from fedbn.learners.settings import LearnerSettings


@dataclass(frozen=True)
class SiteRun:
    """What a site must know of a run: how it learns, how the run would have tables read, and what
    the site is asked for; whether the run gives the columns and states, or samples a network, which
    gives them, too; and whether it may agree on columns that a site lacks (`variables` "union")."""

    learner: LearnerSettings
    tables: TableSettings
    rounds: RoundSettings
    gives_schema: bool
    samples: bool
    variables: str


def site_run(experiment: Experiment) -> SiteRun:
    """What a site must know of it."""
    return SiteRun(
        learner=experiment.learner,
        tables=experiment.tables,
        rounds=experiment.rounds,
        gives_schema=experiment.data.schema is not None,
        samples=experiment.data.network is not None,
        variables=experiment.consensus.variables,
    )
