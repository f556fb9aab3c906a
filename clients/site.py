"""What the node's configuration says about its site: where its table and its file are.

    --node-config 'data-path="/srv/north.csv" policy="/srv/north.toml"'

Without a policy file the limits are those that are on by default (`fedbn.federation.policy`). A
site always keeps a disclosure log, a ledger of private runs and a file of the cohorts of secure
sums: where its file says, or beside its table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fedbn.data.dataset import Dataset
from fedbn.errors import ConfigError, did_you_mean
from fedbn.federation.disclosure_log import log_beside
from fedbn.federation.site_file import SiteFile, read_site_file
from fedbn.privacy.ledger import ledger_beside
from fedbn.secure.past_cohorts import cohorts_beside

NODE_KEYS = ("data-path", "policy", "partition-id", "num-partitions")
"""What a node's configuration may say; the last two mean something in simulations only."""


@dataclass(frozen=True)
class Site:
    """A site's table, the name that it goes by where it tells one (else empty), and how many rows
    of the table were left out, as a cell was missing."""

    label: str
    dataset: Dataset
    rows_dropped: int = 0


def site_file(node_config: Mapping[str, Any]) -> SiteFile:
    """The site's decisions; raises ConfigError where its file or the node's settings are wrong."""
    if "data-path" not in node_config:
        raise ConfigError(
            "a deployed node must be started with data-path in its --node-config; partition-id is "
            "for simulations"
        )
    for key in node_config:
        if key not in NODE_KEYS:
            hint = did_you_mean(key, NODE_KEYS)
            raise ConfigError(f"unknown key {key!r} in the node's configuration{hint}")
    given = read_site_file(str(node_config["policy"])) if "policy" in node_config else SiteFile()
    return with_logs(given, Path(str(node_config["data-path"])))


def with_logs(given: SiteFile, place: Path) -> SiteFile:
    """The decisions with all that a site keeps on disk: where its file says, or beside `place`."""
    return replace(
        given,
        disclosures=given.disclosures or log_beside(place),
        ledger=given.ledger or ledger_beside(place),
        cohorts=given.cohorts or cohorts_beside(place),
    )
