"""What is asked of a node of a simulation: the run's settings say how its table is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from flwr.app import Context, Message

from clients.read_requests import agreed_of, cuts_of
from clients.request import Node, Request
from clients.site import Site
from fedbn.arrays import Floats
from fedbn.data.cuts import Cuts
from fedbn.data.quantiles import Histogram, Question, histogram
from fedbn.data.schema import Schema
from fedbn.federation.rounds import site_rng
from fedbn.federation.runs import site_run
from fedbn.federation.settings import Experiment
from fedbn.federation.site_table import require_admitted
from fedbn.learners import LearnerSettings, kind_of_score
from fedbn.networks.family_counts import FamilyCounts
from fedbn.privacy.small_buckets import thin_out
from simulations.sites.naming import schema_to_tell
from simulations.sites.tables import local_numbers, local_site, own_table, partition_id


@dataclass(frozen=True)
class SimulatedRequest(Request):
    """A request without a contract: who simulates has all the tables.

    `experiment` are all of the run's settings, which say where the tables are.
    """

    experiment: Experiment = field(default_factory=Experiment)

    @cached_property
    def learner(self) -> LearnerSettings:
        """The learner within the site's offers; a private one's noise is of the run's seed."""
        offered = self.site.offers.take_up(self.run, deployed=False)
        return offered if self.guarantee is None else replace(offered, noise="seeded")

    def rng(self) -> np.random.Generator:
        """Of the run's seed, the node and the round."""
        part = partition_id(self.context.node_config)
        return site_rng(self.experiment.seed, part, self.task.round)

    def require_offers(self) -> None:
        """A simulation may run any learner that is installed."""
        self.site.policy.require_kind(kind_of_score(self.run.learner.score))
        _ = self.learner

    def require_admitted(self) -> None:
        """The table's header and its number of lines are looked at."""
        own = own_table(self.experiment, self.context.node_config)
        if own is not None:
            require_admitted(own[0], self.run.tables, own[1])

    def require_contract(self) -> None:
        """There is none."""

    def require_question(self) -> None:
        """Whatever is asked."""

    def require_schema(self, schema: Schema) -> None:
        """The policy's columns are the only bound."""
        self.site.policy.require_schema(self.own_part(schema))

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the table, which is read."""
        return self.table().dataset.names

    def require_own_schema(self) -> None:
        """The run's is enough."""

    def require_peers(self) -> None:
        """All sites are here."""

    @property
    def rows(self) -> int:
        """Rows of the table, which is read."""
        return self.table().dataset.n_rows

    def describe(self) -> tuple[Schema, str]:
        """The schema that the run's settings make of the table."""
        site, policy = self.table(cuts_of(self.message)), self.site.policy
        agreed = agreed_of(self.message)
        if agreed is not None and self.run.variables == "union":
            known = [name for name in site.dataset.names if name in agreed.names]
            agreed = agreed.restrict(known) if known else None
        return schema_to_tell(site.dataset, policy, own=self.site.schema, agreed=agreed), site.label

    def numbers(self) -> Mapping[str, Floats]:
        """The numbers of the table as the run wants it read."""
        return local_numbers(self.experiment, self.context.node_config)

    def histogram(self, question: Question, most: Mapping[str, int] | None = None) -> Histogram:
        """The answer of the table; whatever is asked."""
        numbers = self.numbers()
        if most is not None:
            numbers = {name: thin_out(numbers[name], many) for name, many in most.items()}
        return histogram(question, numbers)

    def table(self, cuts: Mapping[str, Cuts] | None = None) -> Site:
        """The site's table as the run wants it read, with these cut points."""
        site = local_site(self.experiment, self.context.node_config, cuts)
        self.site.policy.require_table(site.dataset)
        return site

    def enter_counts(self, told: Callable[[], FamilyCounts]) -> None:
        """Nothing is kept."""

    def enter_sums(self, counts: FamilyCounts | None) -> None:
        """Nothing is kept."""

    def enter_rows(self) -> bool:
        """Nothing is kept."""
        return True


@dataclass(frozen=True)
class SimulatedNode(Node):
    """A node of a simulation, with the settings that say which site it is."""

    experiment: Experiment

    def request(self, message: Message, context: Context) -> Request:
        """The request that a message is."""
        run = site_run(self.experiment)
        return SimulatedRequest(message, context, self.site, run, experiment=self.experiment)
