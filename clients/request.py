"""A message as a site takes it up: one frozen value, made once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from flwr.app import Context, Message

from clients.divided_table import Site
from clients.local_data import local_site
from clients.site import is_simulated
from fedbn.data.cuts import Cuts
from fedbn.errors import ContractError
from fedbn.federation.contract import Contract
from fedbn.federation.prepared_table import contract_of, prepared_path, rows_of
from fedbn.federation.private_runs import guarantee_of
from fedbn.federation.run_config import from_run_config
from fedbn.federation.settings import Experiment
from fedbn.federation.site_file import SiteFile
from fedbn.privacy.guarantee import Guarantee

__all__ = ["Request", "request_of"]


@dataclass(frozen=True)
class Request:
    """What was asked, by which run, of which site.

    Attributes
    ----------
    message, context : as Flower gave them; the context's state is what the site keeps of a run.
    site : its decisions.
    run : its settings, as it told them.
    contract : how the site's table is read; None in a simulation, where the run says so, and where
        `unprepared` says why there is none.
    unprepared : empty, or what the site has to do.
    """

    message: Message
    context: Context
    site: SiteFile
    run: Experiment
    contract: Contract | None = None
    unprepared: str = ""

    @property
    def kind(self) -> str:
        """The kind of message."""
        return self.message.metadata.message_type

    @property
    def deployed(self) -> bool:
        """Whether other people's runs reach this site."""
        return self.contract is not None or bool(self.unprepared)

    @property
    def agreed(self) -> Contract:
        """The contract of a deployed site; raises ContractError where it has none."""
        if self.contract is None:
            raise ContractError(self.unprepared)
        return self.contract

    @property
    def path(self) -> str:
        """Where a deployed site's table is."""
        return str(self.context.node_config["data-path"])

    @property
    def log(self) -> Path:
        """A deployed site's log, beside which it keeps what it must not forget."""
        assert self.site.disclosures is not None
        return self.site.disclosures

    @property
    def guarantee(self) -> Guarantee | None:
        """What the run's learner promises; None for one that is not private."""
        return guarantee_of(self.run.learner)

    @property
    def shares_diagnostics(self) -> bool:
        """Whether run and site both want label, rows and seconds to be told."""
        return self.run.federation.share_diagnostics and self.site.policy.diagnostics

    def table(self, cuts: Mapping[str, Cuts] | None = None) -> Site:
        """The site's table: the prepared one, or in a simulation as the run wants it read.

        Here, and nowhere before, cells are looked at; `cuts` mean something in a simulation only.
        """
        if not self.deployed:
            site = local_site(self.run, self.context.node_config, cuts)
            self.site.policy.require_table(site.dataset)
            return site
        dataset = rows_of(prepared_path(self.path, self.site), self.agreed)
        return Site(self.site.name or "", dataset, self.agreed.rows_dropped)


def request_of(
    message: Message, context: Context, site: SiteFile, run: Experiment | None = None
) -> Request:
    """The request that a message is; raises ConfigError where the run's settings are wrong.

    `run` are these settings, where they had to be read before.
    """
    run = run or from_run_config(context.run_config)
    if is_simulated(context.node_config):
        return Request(message, context, site, run)
    try:
        contract = contract_of(str(context.node_config["data-path"]), site)
    except ContractError as error:
        return Request(message, context, site, run, unprepared=str(error))
    return Request(message, context, site, run, contract)
