"""A federation in this process: every site learns, the server fuses, nothing is sent.

The rounds are those of `fedbn.federation.rounds`, which the apps carry over Flower, with the same
random numbers: `fedbn simulate --sites` gives the same consensus.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fedbn.api.fusing import Fused
from fedbn.api.learning import default_score, learner_settings
from fedbn.api.plugins import name_for
from fedbn.api.progress import Count, progress_bar
from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema
from fedbn.data.table import Table, dataset_of, show
from fedbn.errors import ConfigError
from fedbn.federation.agreement import (
    dividing_columns,
    list_alone,
    negotiate,
    own_part,
    own_states,
)
from fedbn.federation.family_message import answer_request
from fedbn.federation.fusions import FUSIONS, FusionFunction, require_fusion
from fedbn.federation.judged_counting import begin_choosing
from fedbn.federation.message import dags_over
from fedbn.federation.rounds import client_round, server_round, site_rng
from fedbn.federation.settings import ConsensusSettings
from fedbn.federation.state import ClientReply, FederationResult, ServerState
from fedbn.federation.summing import choose_by_sums
from fedbn.federation.whole_families import columns_of, requests_of
from fedbn.graphs.knowledge import Knowledge, knowledge_of
from fedbn.learners import LEARNERS, LearnerSettings
from fedbn.learners.plugins import LearnerFunction
from fedbn.results.outcome import Outcome
from fedbn.scores.scatter import scatter_of_table
from fedbn.wording import count_of


@dataclass(frozen=True, eq=False, repr=False)
class Simulated(Fused):
    """The consensus of a federation; `result` has the agreed schema, replies and rounds."""

    result: FederationResult

    def __repr__(self) -> str:
        return super().__repr__().replace("Fused(", "Simulated(")[:-1] + (
            f", {count_of(self.result.rounds, 'round')})"
        )


def simulate(
    sites: Mapping[str, Table | Dataset],
    *,
    learner: str | LearnerFunction = "ges",
    score: str | None = None,
    fusion: str | FusionFunction | None = None,
    seed: int = 1,
    rounds: int = 1,
    schema: Schema | None = None,
    consensus: ConsensusSettings | None = None,
    knowledge: Knowledge | Mapping[str, Any] | str | Path | None = None,
    **settings: Any,
) -> Simulated:
    """Let every site learn from its table and fuse what they send.

    Parameters
    ----------
    sites : site -> its Table.
    learner, score, settings : as for `fedbn.learn`.
    fusion : mcbnc, or another name or function as `fedbn.register_fusion` takes; by default that of
        `consensus`.
    seed : of learners that are random.
    rounds : at most this many; after the first, sites restart from the consensus until it stays.
    schema : the agreed columns and states; without it the sites' states are united.
    consensus : how the server fuses; its `variables` "union" takes sites with different columns.
    knowledge : what the consensus keeps, and every site whose learner has a use for it: a mapping
        with any of required, forbidden and tiers, or a file of them.

    Raises
    ------
    SchemaError : the sites do not have the same columns, or not those of `schema`.
    ConfigError : a setting is unknown or out of range, there is no site, or the knowledge
        contradicts itself or names another variable.
    DataError : a site has no table, or one of another kind.
    PluginError : a learner, a score or a fusion of somebody else failed.

    Examples
    --------
    >>> table = Table.from_columns({"a": "0011" * 20, "b": "0011" * 20, "c": "0101" * 20})
    >>> simulate({"north": table, "south": table}, learner="hc").dag.edges
    (('b', 'a'),)
    """
    rule = consensus or ConsensusSettings()
    with (
        name_for(LEARNERS, learner) as name,
        name_for(FUSIONS, fusion or rule.fusion) as fused_by,
    ):
        rule = replace(rule, fusion=fused_by)
        require_fusion(rule)
        if knowledge is not None:
            rule = replace(rule, known=knowledge_of(knowledge))
        if rule.known is not None and "knowledge" in LEARNERS.find(name).uses:
            settings["knowledge"] = rule.known
        return _simulate(_datasets(sites), name, score, rule, schema, seed, rounds, settings)


def _simulate(
    datasets: Mapping[str, Dataset],
    learner: str,
    score: str | None,
    rule: ConsensusSettings,
    schema: Schema | None,
    seed: int,
    rounds: int,
    settings: dict[str, Any],
) -> Simulated:
    """`simulate` with a learner and a fusion by their names."""
    agreement = negotiate(
        {site: data.schema for site, data in datasets.items()},
        schema,
        variables=rule.variables,
        min_sites=rule.min_sites,
    )
    agreement.require_all()
    if rounds < 1:
        raise ConfigError(f"rounds must be at least 1, not {rounds}")
    first = next(iter(datasets.values()))
    chosen = learner_settings(first, learner, score or default_score(first), settings)
    own = {site: data.schema for site, data in datasets.items()}
    state = ServerState(
        agreement.schema,
        len(datasets),
        lone_states=list_alone(own_states(own)),
        divided=dividing_columns(own),
    )
    for number in range(1, rounds + 1):
        with progress_bar("fedbn.simulate, sites") as count:
            given = schema is not None
            replies = _replies(
                datasets, state, chosen, seed, number, count, given=given, variables=rule.variables
            )
        with progress_bar("fedbn.simulate, deletions") as count:
            state = server_round(state, replies, (), rule, count)
        if state.converged:
            break
    result = state.fused
    if rule.choose != "smhd":
        result = _choose_by_counts(result, datasets, rule, chosen.ess, seed)
    return Simulated(Outcome.of_federation(result), result)


def _datasets(sites: Mapping[str, Table | Dataset]) -> dict[str, Dataset]:
    if not isinstance(sites, Mapping) or not sites:
        raise ConfigError(f"simulate needs a mapping from sites to tables, not {show(sites)}")
    return {site: dataset_of(table) for site, table in sites.items()}


def _replies(
    datasets: Mapping[str, Dataset],
    state: ServerState,
    settings: LearnerSettings,
    seed: int,
    number: int,
    count: Count,
    *,
    given: bool,
    variables: str,
) -> list[ClientReply]:
    """What the sites send in one round; places are those of the mapping's order."""
    start = None if state.result is None else state.result.consensus.dag
    replies = []
    for place, (site, dataset) in enumerate(datasets.items()):
        count(place, len(datasets))
        rng = site_rng(seed, place, number)
        message, rungs = client_round(
            dataset, state.schema, settings, rng, start, given=given, variables=variables
        )
        replies.append(
            ClientReply(
                site,
                dags_over(message, dataset.names),
                message.weights,
                message.status,
                dataset.n_rows,
                sum(learned.seconds for learned in rungs),
                message.row_weights,
            )
        )
    return replies


def _choose_by_counts(
    result: FederationResult,
    datasets: Mapping[str, Dataset],
    rule: ConsensusSettings,
    ess: float,
    seed: int,
) -> FederationResult:
    """The result with what exact counts, or sums of products, of all sites choose."""
    schema = result.schema
    tables = {
        site: data.with_schema(own_part(schema, data.names)) for site, data in datasets.items()
    }
    if result.schema.kind != "categorical":
        scatters = {site: scatter_of_table(table) for site, table in tables.items()}
        return choose_by_sums(result, scatters, rule, seed)
    dialogue, columns, number = begin_choosing(result, rule, ess, seed), columns_of(result), 0
    most = 1 + (rule.count_rounds if rule.choose == "climb" else 0)
    with progress_bar("fedbn.simulate, requests for counts") as count:
        while (wanted := dialogue.request()) is not None:
            answers = {
                site: answer_request(own, tables[site], ess)
                for site, own in requests_of(wanted, columns).items()
            }
            dialogue = dialogue.hear(answers)
            count(number := number + 1, most)
        return dialogue.conclude(result)
