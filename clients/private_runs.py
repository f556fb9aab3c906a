"""A site's part in a run with a private learner: limits, ledger, answers that are drawn once."""

from __future__ import annotations

from dataclasses import replace

from flwr.app import Array, ArrayRecord, ConfigRecord, Context

from clients.requests import Task
from clients.site import is_deployed, read_decisions
from fedbn.data.dataset import Dataset, Schema
from fedbn.data.tables import read_schema
from fedbn.federation.message import ARRAY_KEYS, StructureMessage, from_arrays, to_arrays
from fedbn.federation.naming import schema_to_tell
from fedbn.federation.npy import arrays_of_npy
from fedbn.federation.policy import refusal
from fedbn.federation.private_runs import guarantee_of, require_private_run
from fedbn.federation.settings import Experiment
from fedbn.learners import LearnerSettings
from fedbn.privacy.ledger import Ledger, reserve, table_digest

__all__ = [
    "admit",
    "keep_structures",
    "kept_structures",
    "own_schema",
    "require_open",
    "reserve_budget",
    "spent_words",
]

ANSWER = "private-answer"


def admit(experiment: Experiment, context: Context) -> LearnerSettings:
    """The learner's settings for this node, whose policy allows the learner.

    The noise is the operating system's wherever there is a table; a simulated node takes that of
    the run's seed. No run config can say otherwise.

    Raises
    ------
    PolicyError : only private structures may leave, and this run's would not be.
    ConfigError : the run is not as a private one must be.
    """
    learner = experiment.learner
    guarantee = guarantee_of(learner)
    read_decisions(context).policy.require_private(guarantee)
    require_private_run(experiment)
    if guarantee is None or is_deployed(context):
        return learner
    return replace(learner, noise="seeded")


def require_open(experiment: Experiment) -> None:
    """Raise PolicyError for requests that no private run has: counts, histograms."""
    if guarantee_of(experiment.learner) is not None:
        raise refusal("max-epsilon", "a private run sends structures alone")


def own_schema(
    experiment: Experiment, context: Context, dataset: Dataset, agreed: Schema | None
) -> Schema:
    """The schema that a site tells: for a private run, the one of its site file, not the found one.

    Parameters
    ----------
    experiment, context : the run, and who is asked.
    dataset : the site's table.
    agreed : columns and states by the run, if it names them.

    Raises
    ------
    PolicyError : a private run has none, so that states would be read from the table; or as
        `fedbn.federation.naming.schema_to_tell`.
    """
    rules = read_decisions(context)
    own = None if rules.schema is None else read_schema(rules.schema)
    if guarantee_of(experiment.learner) is None or not is_deployed(context):
        return schema_to_tell(dataset, rules.policy, own=own, agreed=agreed)
    if own is None:
        raise refusal("schema", "a private run needs `schema` in the site's file")
    return own


def reserve_budget(
    learner: LearnerSettings, dataset: Dataset, task: Task, context: Context
) -> None:
    """Write into the site's ledger what the run spends, before anything is drawn.

    Raises
    ------
    PolicyError : the site's limit on ε would be exceeded.
    ResultsError : the ledger cannot be read or written.
    """
    guarantee, site = guarantee_of(learner), read_decisions(context)
    if guarantee is None or site.ledger is None:
        return
    limits = {}
    if site.policy.max_epsilon is not None:
        limits = {"max_epsilon": site.policy.max_epsilon, "max_delta": site.policy.delta}
    reserve(
        site.ledger,
        guarantee,
        run=str(context.run_id),
        round=task.round,
        table=table_digest(dataset.with_schema(task.schema), site.ledger),
        mechanism=learner.learner,
        parameters={"dp-edges": learner.dp_edges, "max-parents": learner.max_parents},
        **limits,
    )


def kept_structures(
    learner: LearnerSettings, task: Task, context: Context
) -> StructureMessage | None:
    """What this round was answered with before: it is sent again, never drawn anew."""
    kept = context.state.get(ANSWER)
    if guarantee_of(learner) is None or not isinstance(kept, ArrayRecord):
        return None
    if context.state[f"{ANSWER}-round"]["round"] != task.round:
        return None
    arrays = arrays_of_npy(((key, array.data) for key, array in kept.items()), ARRAY_KEYS)
    return from_arrays(arrays, task.schema)


def keep_structures(
    learner: LearnerSettings, task: Task, context: Context, structures: StructureMessage
) -> None:
    """Keep an answer for the case that it is asked for again."""
    if guarantee_of(learner) is not None:
        arrays = {key: Array(array) for key, array in to_arrays(structures).items()}
        context.state[ANSWER] = ArrayRecord(arrays)
        context.state[f"{ANSWER}-round"] = ConfigRecord({"round": task.round})


def spent_words(experiment: Experiment, context: Context) -> list[str]:
    """What the disclosure log says of ε; nothing where nothing is promised."""
    guarantee, ledger = guarantee_of(experiment.learner), read_decisions(context).ledger
    if guarantee is None or ledger is None:
        return []
    total = Ledger.read(ledger).epsilon(guarantee.delta)
    return [guarantee.words, f"ε {total:.4g} in all"]
