"""What each side must know of a run, as a value of its own.

A site is told the settings that it learns and answers by, the server also those that it goes
through the rounds and fuses by. Whose data a simulation divides, and how it is executed, is in
neither: only an `Experiment` has that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fedbn.data.table_settings import TableSettings
from fedbn.federation.reply_limits import Limits
from fedbn.federation.run_config import RunConfigValue, to_run_config
from fedbn.federation.settings import (
    ConsensusSettings,
    CourierSettings,
    Experiment,
    FederationSettings,
    OutputSettings,
    RoundSettings,
)
from fedbn.learners.settings import LearnerSettings

DAY = 24 * 3600.0


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


@dataclass(frozen=True)
class ServerRun(SiteRun):
    """What the server must know of a run: what the sites must, and more.

    Attributes
    ----------
    consensus, limits, federation, couriers, output, seed : as in `Experiment`.
    schema : file of the columns and states that the run gives.
    clients : how many there must be; 0 if only the data tell, None in a deployment.
    settings : all of the run in their flat form, which results and checkpoints keep.
    """

    consensus: ConsensusSettings
    limits: Limits
    federation: FederationSettings
    couriers: CourierSettings
    output: OutputSettings
    seed: int
    schema: str | None
    clients: int | None
    settings: Mapping[str, RunConfigValue]

    @property
    def reply_seconds(self) -> float:
        """How long the server waits for the replies to one request."""
        return self.federation.reply_seconds or DAY

    @property
    def parameter_ess(self) -> float:
        """Equivalent sample size of the consensus' tables: its own setting, or the score's."""
        own = self.rounds.parameter_ess
        return self.learner.ess if own is None else own


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


def server_run(experiment: Experiment) -> ServerRun:
    """What the server must know of it."""
    return ServerRun(
        **vars(site_run(experiment)),
        consensus=experiment.consensus,
        limits=experiment.limits,
        federation=experiment.federation,
        couriers=experiment.couriers,
        output=experiment.output,
        seed=experiment.seed,
        schema=experiment.data.schema,
        clients=experiment.data.client_count,
        settings=to_run_config(experiment),
    )
