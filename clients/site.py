"""What the node's configuration says about its site: where its file is, and what it decided.

    --node-config 'data-path="/srv/north.csv" policy="/srv/north.toml"'

Without a policy file the limits are those that are on by default (`fedbn.federation.policy`), and
no diagnostics are shared. A deployed site always
keeps a disclosure log, a ledger of private runs and a file of the cohorts of secure sums: where its
file says, or beside its table. In a simulation there is none of them.

A node without `data-path` takes part only inside a simulation, where the run says which data there
are: Flower numbers its nodes there (`partition-id`). On any other node that number means nothing,
or a run could name any file of the site.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from typing import Any

from flwr.app import Context

from fedbn.errors import ConfigError, did_you_mean
from fedbn.federation.disclosure_log import log_beside
from fedbn.federation.policy import SitePolicy
from fedbn.federation.run_config import from_run_config
from fedbn.federation.settings import Experiment
from fedbn.federation.site_file import SiteFile, is_site_file, read_site_file
from fedbn.privacy.ledger import ledger_beside
from fedbn.secure.cohorts import cohorts_beside

SIMULATED = SiteFile(
    policy=SitePolicy(
        diagnostics=True,
        counts=True,
        histograms=True,
        weights="exact",
        max_states=0,
        min_state_rows=0,
        max_messages=None,
        max_messages_a_day=None,
        max_sums=None,
    )
)
"""A simulated client has no will of its own: its table is made up, or here anyway."""

REHEARSED = replace(SIMULATED, policy=replace(SIMULATED.policy, weights="rounded"))
"""A site's own table in a simulation gives the bytes that a deployed site gives."""


NODE_KEYS = ("data-path", "policy", "partition-id", "num-partitions")
"""What a node's configuration may say; the last two mean something in simulations only."""

_SIMULATING = ContextVar("simulating", default=False)


@contextmanager
def simulating() -> Iterator[None]:
    """Inside, the app is called by a simulation in this process."""
    token = _SIMULATING.set(True)
    try:
        yield
    finally:
        _SIMULATING.reset(token)


def is_simulated(node_config: Mapping[str, Any]) -> bool:
    """Whether the node is one of a simulation, without a table of its own.

    Simulations run in this process (`simulating`), or on Flower's engine: then this is one of Ray's
    workers, which no SuperNode and no executor ever starts.

    Raises
    ------
    ConfigError : the node is deployed, and has no table or a key that means nothing.
    """
    if "data-path" not in node_config:
        if "partition-id" in node_config and (_SIMULATING.get() or _in_ray()):
            return True
        raise ConfigError(
            "a deployed node must be started with data-path in its --node-config; partition-id is "
            "for simulations"
        )
    for key in node_config:
        if key not in NODE_KEYS:
            hint = did_you_mean(key, NODE_KEYS)
            raise ConfigError(f"unknown key {key!r} in the node's configuration{hint}")
    return False


def _in_ray() -> bool:
    ray = sys.modules.get("ray")
    return ray is not None and bool(ray.is_initialized())


def decisions_of_node(context: Context) -> tuple[SiteFile, Experiment | None]:
    """The decisions of the site in whose name the app is called; raises ConfigError as below.

    In a simulation the run's settings say which site it is, and are given with them.
    """
    if not is_simulated(context.node_config):
        return site_file(context.node_config), None
    run = from_run_config(context.run_config)
    if run.data.sites_dir is not None:
        return REHEARSED, run
    return site_file(context.node_config, run.data.sites), run


def site_file(node_config: Mapping[str, Any], sites: Sequence[str] = ()) -> SiteFile:
    """The site's decisions; raises ConfigError where its file or its node's configuration is wrong.

    In a simulation, `sites` may name site files instead of tables; such a site has its policy and
    mapping, and no log. Whoever has a table or a policy of his own has a log.
    """
    if is_simulated(node_config):
        index = int(node_config.get("partition-id", len(sites)))
        if index < len(sites) and is_site_file(sites[index]):
            return replace(
                read_site_file(sites[index]), disclosures=None, ledger=None, cohorts=None
            )
        if index < len(sites):
            return REHEARSED
        if "policy" not in node_config:
            return SIMULATED
    given = SiteFile()
    if "policy" in node_config:
        given = read_site_file(str(node_config["policy"]))
    place = Path(str(node_config.get("data-path", node_config.get("policy"))))
    return replace(
        given,
        disclosures=given.disclosures or log_beside(place),
        ledger=given.ledger or ledger_beside(place),
        cohorts=given.cohorts or cohorts_beside(place),
    )
