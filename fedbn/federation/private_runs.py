"""What a run with a private learner must be like, so that nothing but its structures speaks.

The promise is per row of one site's table. If a person's rows are in one site only, ε of the run is
the largest ε of a site. Outside the promise are the time that a site takes, and refusals (too few
rows, a state that the schema lacks). Which columns a table has is public, as the schema is: no row
that is added or removed changes them, and a site says in the handshake what they are called.
"""

from __future__ import annotations

import warnings

from fedbn.errors import FedbnWarning
from fedbn.federation.runs import SiteRun
from fedbn.learners.private import promise, stated_bounds
from fedbn.learners.settings import LearnerSettings
from fedbn.learners.table import find_learner, kind_of_score
from fedbn.privacy.guarantee import Guarantee
from fedbn.setting import refuse


def guarantee_of(settings: LearnerSettings) -> Guarantee | None:
    """What the learner promises; None for one that is not private."""
    return promise(settings) if find_learner(settings.learner).is_private else None


def require_private_run(run: SiteRun) -> None:
    """Check the settings of a run whose learner is private, and warn of weak promises; others pass.

    Raises ConfigError: the schema would be read from the tables, sites would tell rows and seconds,
    cut points or parameters would be found in the tables, there are several rounds or a row weight,
    or columns of numbers have no bounds.
    """
    guarantee = guarantee_of(run.learner)
    if guarantee is None:
        return
    for doubt in guarantee.doubts:
        warnings.warn(doubt, FedbnWarning, stacklevel=2)
    name, limit = run.learner.learner, run.rounds.rounds_limit
    wrong = {
        f"the private learner {name} needs a schema that is given (--schema): the states in the "
        "tables are data, too": not (run.gives_schema or run.samples),
        f"discretise is not for the private learner {name}: cut points found in the tables are "
        "data, too; give a schema with cut points": len(run.tables.discretise) > 0,
        f"leave-out-identifiers is not for the private learner {name}: which columns look like "
        "identifiers is data, too; name them (--leave-out)": run.tables.leave_out_identifiers,
        f"row-weight must be 1 with the private learner {name}, not {run.learner.row_weight}: "
        "every rung of a ladder would spend ε again": run.learner.row_weight != 1,
        f"parameters must be none with the private learner {name}: counts are not private": (
            run.rounds.parameters != "none"
        ),
        f"share-diagnostics must be false with the private learner {name}: rows and seconds are "
        "data": run.rounds.share_diagnostics,
        f"rounds-limit must be 1 with the private learner {name}, not {limit}: every round would "
        "spend ε again": limit != 1,
    }
    refuse(wrong)
    if name == "dp-moments" and kind_of_score(run.learner.score) == "gaussian":
        stated_bounds(run.learner)
