"""A message as a site takes it up: one frozen value, made once.

A deployed site answers by its contract; nodes of a simulation have requests of their own kind
(`simulations.sites.request`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from flwr.app import Context, Message

from clients.read_requests import Task, agreed_of, cuts_of, question_of, require_version, task_of
from clients.site import Site, site_file
from fedbn.arrays import Floats
from fedbn.data.cuts import Cuts
from fedbn.data.dataset import Dataset
from fedbn.data.quantiles import Histogram, Question
from fedbn.data.schema import Schema
from fedbn.data.table_settings import TableSettings
from fedbn.errors import ContractError, PolicyError, SchemaError
from fedbn.federation.agreement import own_part
from fedbn.federation.contract import Contract
from fedbn.federation.counted import counted_beside, enter_counts, enter_sums, tables_of
from fedbn.federation.cut_rounds import answer_question, askable, rounds_beside
from fedbn.federation.missing_shares import missing_counts
from fedbn.federation.policy import refusal
from fedbn.federation.prepared_table import contract_of, prepared_path, rows_of
from fedbn.federation.private_runs import guarantee_of, require_private_run
from fedbn.federation.run_config import from_run_config
from fedbn.federation.runs import SiteRun, site_run
from fedbn.federation.site_file import SiteFile
from fedbn.federation.site_table import require_admitted, site_numbers
from fedbn.learners import LearnerSettings, kind_of_score
from fedbn.networks.family_counts import FamilyCounts
from fedbn.privacy.guarantee import Guarantee
from fedbn.privacy.told_counts import ToldCounts

LOG = logging.getLogger("fedbn.client")


@dataclass(frozen=True)
class Request:
    """What was asked, by which run, of which site.

    Attributes
    ----------
    message, context : as Flower gave them; the context's state is what the site keeps of a run.
    site : its decisions.
    run : what a site must know of its settings, as it told them.
    contract : how the site's table is read; None where `unprepared` says why there is none.
    unprepared : empty, or what the site has to do.
    """

    message: Message
    context: Context
    site: SiteFile
    run: SiteRun
    contract: Contract | None = None
    unprepared: str = ""

    @property
    def kind(self) -> str:
        """The kind of message."""
        return self.message.metadata.message_type

    @cached_property
    def task(self) -> Task:
        """What a request under an agreed schema is about; raises MessageError."""
        return task_of(self.message)

    @property
    def agreed(self) -> Contract:
        """The contract; raises ContractError where there is none."""
        if self.contract is None:
            raise ContractError(self.unprepared)
        return self.contract

    @property
    def guarantee(self) -> Guarantee | None:
        """What the run's learner promises; None for one that is not private."""
        return guarantee_of(self.run.learner)

    @property
    def shares_diagnostics(self) -> bool:
        """Whether run and site both want label, rows and seconds to be told."""
        return self.run.rounds.share_diagnostics and self.site.policy.diagnostics

    @cached_property
    def learner(self) -> LearnerSettings:
        """The learner within the site's offers; PolicyError for anything else. The noise of a
        private one is the operating system's, whatever the run's settings say."""
        return self.site.offers.take_up(self.run, deployed=True)

    def rng(self) -> np.random.Generator:
        """A learner's random numbers, never of the run's seed: a run that chose them could ask one
        table a question of its own per seed."""
        return np.random.default_rng()

    # What must be allowed before it is answered. Each looks at no cell, and raises PolicyError with
    # the word that may leave, or ConfigError for a run that is not as such runs must be.

    def require_version(self) -> None:
        """The server has this version of fedbn; raises VersionError."""
        require_version(self.message)

    def require_offers(self) -> None:
        """The run asks for nothing that the site does not offer."""
        self.site.offers.require_named(self.run.learner)
        self.site.policy.require_kind(kind_of_score(self.run.learner.score))
        _ = self.learner

    def require_admitted(self) -> None:
        """There are enough rows, and all columns may be named."""
        if self.contract is not None:
            self.site.policy.require_rows(self.contract.rows)
            self.site.policy.require_names(self.contract.schema.names)

    def require_contract(self) -> None:
        """The run wants the table as the contract has it."""
        self.agreed.require_named(self.run.rounds.contract)
        self.agreed.require_kind(kind_of_score(self.run.learner.score))
        may_lack = self.run.variables == "union"
        self.agreed.require_reading(self.run.tables, may_lack=may_lack)

    def require_question(self) -> None:
        """A question for columns names no other states and cut points than the contract."""
        agreed = agreed_of(self.message)
        if agreed is not None:
            self.agreed.require_schema(self.own_part(agreed))
        cuts = cuts_of(self.message)
        if self.run.variables == "union":
            cuts = {name: own for name, own in cuts.items() if name in self.names}
        self.agreed.require_cuts(cuts)

    @property
    def names(self) -> tuple[str, ...]:
        """The agreed names of the site's columns."""
        return self.agreed.schema.names

    def own_part(self, schema: Schema) -> Schema:
        """Of an agreed schema what this site must have: all of it, unless sites may have different
        columns; PolicyError where that lacks a column of the site."""
        if self.run.variables == "same":
            return schema
        try:
            return own_part(schema, self.names)
        except SchemaError as error:
            raise refusal("contract", str(error)) from None

    def require_task(self) -> None:
        """The task's columns, states and cut points are the contract's, and the policy has them."""
        self.require_schema(self.task.schema)

    def require_schema(self, schema: Schema) -> None:
        """The same of any agreed schema."""
        own = self.own_part(schema)
        self.site.policy.require_schema(own)
        self.agreed.require_schema(own)

    def require_peers(self) -> None:
        """A site that answers under secure sums only knows with whom: keys are no sites."""
        if self.site.policy.secure_sums and self.site.peers is None:
            raise refusal("min-cohort", "secure-sums = true needs [peers] in the site's file")

    def require_open_counts(self) -> None:
        """The site counts its numbers in the open; which columns hold some it tells in any case."""
        if question_of(self.message) is not None:
            self.site.policy.require_open()

    def require_private(self) -> None:
        """The learner is private where only such structures may leave; its run is as it must be."""
        self.site.policy.require_private(self.guarantee)
        require_private_run(self.run)
        if self.guarantee is not None:
            self.require_own_schema()

    def require_own_schema(self) -> None:
        """A private run does not find the schema in the table."""
        if self.site.schema is None:
            raise refusal("schema", "a private run needs `schema` in the site's file")

    def require_public(self) -> None:
        """A private run sends structures alone."""
        if self.guarantee is not None:
            raise refusal("max-epsilon", "a private run sends structures alone")

    @property
    def rows(self) -> int:
        """Rows of the table."""
        return self.agreed.rows

    def describe(self) -> tuple[Schema, str]:
        """The schema that the site tells, and its label; no cell is read."""
        return self.agreed.schema, self.site.name or ""

    def numbers(self) -> Mapping[str, Floats]:
        """Column -> its numbers, of those that may be asked for. The table is read as the site's
        own file says, before there is a contract."""
        require_admitted(self._path, TableSettings(), self.site)
        return askable(site_numbers(self._path, TableSettings(), self.site))

    def histogram(self, question: Question, most: Mapping[str, int] | None = None) -> Histogram:
        """The answer to a question of a round, over at most so many numbers of each column."""
        rounds, least = rounds_beside(self._log), self.site.policy.fewest_numbers
        return answer_question(rounds, question, self.numbers(), least, most)

    def table(self, cuts: Mapping[str, Cuts] | None = None) -> Site:
        """The site's prepared table: here, and nowhere before, cells are looked at. `cuts` mean
        something in a simulation only: a contract has its own."""
        dataset = rows_of(prepared_path(self._path, self.site), self.agreed)
        return Site(self.site.name or "", dataset, self.agreed.rows_dropped)

    def enter_counts(self, told: Callable[[], FamilyCounts]) -> None:
        """Write down the counts that are to be told; PolicyError where others are too near."""
        tables = tables_of(told(), self.agreed.digest)
        enter_counts(counted_beside(self._log), tables, self.site.policy.rule.least)

    def enter_sums(self, counts: FamilyCounts | None) -> None:
        """Write down that moments or sums of products are to be told, and the counts that they
        hold; PolicyError as above."""
        contract, least = self.agreed, self.site.policy.rule.least
        enter_sums(counted_beside(self._log), counts, contract.digest, contract.rows, least)

    def enter_rows(self) -> bool:
        """Whether the number of rows may be told, which is then written down; not where it, or what
        was told of other rows, differs from it by few."""
        rows = ToldCounts(self.agreed.digest, None, np.array(self.rows))
        return self._enter([rows], "the number of rows is")

    def enter_missing(self, dataset: Dataset) -> bool:
        """Whether shares of missing cells may be told, as `enter_rows`."""
        return self._enter(missing_counts(dataset, self.agreed.digest), "missing cells are")

    def _enter(self, tables: Sequence[ToldCounts], what: str) -> bool:
        try:
            enter_counts(counted_beside(self._log), tables, self.site.policy.rule.least)
        except PolicyError as error:
            LOG.warning("%s not sent: %s: %s", what, *error.args)
            return False
        return True

    @property
    def _path(self) -> str:
        return str(self.context.node_config["data-path"])

    @property
    def _log(self) -> Path:
        """The site's log, beside which it keeps what it must not forget."""
        assert self.site.disclosures is not None
        return self.site.disclosures


@dataclass(frozen=True)
class Node:
    """A site in whose name the app is called, with its decisions."""

    site: SiteFile

    def request(self, message: Message, context: Context) -> Request:
        """The request that a message is; raises ConfigError where the run's settings are wrong."""
        run = site_run(from_run_config(context.run_config))
        try:
            contract = contract_of(str(context.node_config["data-path"]), self.site)
        except ContractError as error:
            return Request(message, context, self.site, run, unprepared=str(error))
        return Request(message, context, self.site, run, contract)


def node_of(context: Context) -> Node:
    """The deployed site of a context; raises ConfigError where its own settings are wrong."""
    return Node(site_file(context.node_config))
