"""What the node's configuration says about its site: where its file is, and what it decided.

    --node-config 'data-path="/srv/north.csv" policy="/srv/north.toml"'

Without a policy file nothing is limited, and no diagnostics are shared. A deployed site always
keeps a disclosure log, a ledger of private runs and a file of the cohorts of secure sums: where its
file says, or beside its table. In a simulation there is none of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from flwr.app import Context

from fedbn.federation.policy import SitePolicy
from fedbn.federation.run_config import from_run_config
from fedbn.federation.site_file import SiteFile, is_site_file, read_site_file
from fedbn.privacy.ledger import ledger_beside
from fedbn.secure.cohorts import cohorts_beside

SIMULATED = SiteFile(policy=SitePolicy(diagnostics=True, counts=True))
"""A simulated client has no will of its own."""


def decided(context: Context) -> SiteFile:
    """The decisions of the site in whose name the app is called; raises ConfigError as below."""
    if "partition-id" not in context.node_config:
        return site_file(context.node_config)
    return site_file(context.node_config, from_run_config(context.run_config).data.sites)


def site_file(node_config: Mapping[str, Any], sites: Sequence[str] = ()) -> SiteFile:
    """The site's decisions; raises ConfigError where its file is wrong.

    In a simulation, `sites` may name site files instead of tables; such a site has its policy and
    mapping, and no log.
    """
    index = int(node_config.get("partition-id", len(sites)))
    if index < len(sites) and is_site_file(sites[index]):
        return replace(read_site_file(sites[index]), disclosures=None, ledger=None, cohorts=None)
    if "policy" in node_config:
        given = read_site_file(str(node_config["policy"]))
    elif "data-path" in node_config:
        given = SiteFile()
    else:
        return SIMULATED
    if "data-path" not in node_config:
        return given
    table = Path(str(node_config["data-path"]))
    return replace(
        given,
        disclosures=given.disclosures or table.with_name(f"{table.name}.disclosures.jsonl"),
        ledger=given.ledger or ledger_beside(table),
        cohorts=given.cohorts or cohorts_beside(table),
    )
