"""The client app of a simulation: that of the sites, for nodes that the run's settings give tables.

A node without `data-path` takes part only inside a simulation, where the run says which data there
are: Flower numbers its nodes there (`partition-id`). On any other node that number means nothing,
or a run could name any file of the site. Whoever has a table of his own is a site as ever.
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

from clients.client_app import SiteApp
from clients.request import Node, node_of
from clients.site import with_logs
from fedbn.federation.policy import SitePolicy
from fedbn.federation.run_config import from_run_config
from fedbn.federation.site_file import SiteFile, is_site_file, read_site_file
from simulations.sites.request import SimulatedNode

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
    """
    numbered = "partition-id" in node_config and "data-path" not in node_config
    return numbered and (_SIMULATING.get() or _in_ray())


def _in_ray() -> bool:
    ray = sys.modules.get("ray")
    return ray is not None and bool(ray.is_initialized())


def node_here(context: Context) -> Node:
    """The site in whose name the app is called; raises ConfigError where there is none."""
    if not is_simulated(context.node_config):
        return node_of(context)
    run = from_run_config(context.run_config)
    files = () if run.data.sites_dir is not None else run.data.sites
    rehearsed = run.data.sites_dir is not None
    site = REHEARSED if rehearsed else _decisions(context.node_config, files)
    return SimulatedNode(site, run)


def _decisions(node_config: Mapping[str, Any], sites: Sequence[str]) -> SiteFile:
    """What a node's site decided: `sites` may name site files instead of tables.

    Such a site has its policy and mapping, and no log; a node with a policy of its own has one.
    """
    index = int(node_config["partition-id"])
    if index < len(sites):
        if not is_site_file(sites[index]):
            return REHEARSED
        return replace(read_site_file(sites[index]), disclosures=None, ledger=None, cohorts=None)
    if "policy" not in node_config:
        return SIMULATED
    place = Path(str(node_config["policy"]))
    return with_logs(read_site_file(place), place)


app = SiteApp(node_here)
