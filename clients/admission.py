"""What a run may do at this site, settled before any cell of its table is looked at.

First what the site offers, then how many rows there are and how columns are called, and only then
the table as the run wants it read. So a site that sends nothing says the same word whatever a run
asks: no setting of the run turns its refusal into an answer about cells.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from flwr.app import Context
from numpy.typing import NDArray

from clients.divided_table import Site
from clients.local_data import local_numbers, local_site, own_table
from clients.site import is_deployed, read_decisions
from fedbn.data.cuts import Cuts
from fedbn.data.dataset import Schema
from fedbn.federation.run_config import from_run_config
from fedbn.federation.settings import Experiment
from fedbn.federation.site_table import require_admitted
from fedbn.learners import kind_of_score

__all__ = ["admit_numbers", "admit_run", "admit_site", "require_agreed"]


def admit_run(context: Context) -> Experiment:
    """The run's settings as this site takes them up; raises PolicyError for others."""
    experiment, site = from_run_config(context.run_config), read_decisions(context)
    if is_deployed(context):
        site.offers.require_named(experiment.learner)
    site.policy.require_kind(kind_of_score(experiment.learner.score))
    return site.offers.take_up(experiment, deployed=is_deployed(context))


def admit_site(
    experiment: Experiment, context: Context, cuts: Mapping[str, Cuts] | None = None
) -> Site:
    """This site with its table, which may take part.

    Raises
    ------
    PolicyError : it may not. Others as `local_site`, if it may.
    """
    _look_from_outside(experiment, context)
    site = local_site(experiment, context.node_config, cuts)
    read_decisions(context).policy.require_table(site.dataset)
    return site


def admit_numbers(experiment: Experiment, context: Context) -> Mapping[str, NDArray[np.float64]]:
    """The columns of numbers of a table that may take part; raises as `admit_site` does."""
    _look_from_outside(experiment, context)
    return local_numbers(experiment, context.node_config)


def require_agreed(site: Site, schema: Schema, context: Context) -> None:
    """Raise PolicyError unless this table may be learned from under the agreed schema."""
    rules = read_decisions(context)
    rules.policy.require_schema(schema)
    if rules.schema is None:
        rules.policy.require_no_identifiers(site.dataset, named=False)


def _look_from_outside(experiment: Experiment, context: Context) -> None:
    own = own_table(experiment, context.node_config)
    if own is not None:
        path, site = own
        require_admitted(path, experiment.tables, site)
