"""One case: the tables, the federation in every way of choosing, and what pooling gives.

The rounds and the dialogue of counts are those of `fedbn.federation`, which the apps carry over
Flower; the sites' structures are learned once and used by every way of choosing. *Today* is the
class of k = 1, fused by itself as every class is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fedbn.data.dataset import Dataset
from fedbn.data.partition import partition_dirichlet_latent
from fedbn.federation.family_message import answer_request, answer_to_arrays
from fedbn.federation.judged_counting import begin_choosing
from fedbn.federation.message import to_arrays
from fedbn.federation.rounds import client_round, server_round, site_rng
from fedbn.federation.settings import ConsensusSettings
from fedbn.federation.state import ClientReply, FederationResult, ServerState
from fedbn.fusion.baselines import edge_vote
from fedbn.graphs.dag import DAG
from fedbn.graphs.distances import shd, smhd
from fedbn.learners import LearnerSettings, learn
from fedbn.networks.likelihood import predictive_log_likelihood
from fedbn.networks.network import BayesianNetwork
from fedbn.networks.random import with_parameters_around
from fedbn.scores import make_score, total_score
from simulations.studies.pooling.untuned import RULERS, network_of
from simulations.study_cases import Case, Row

HELD_OUT_ROWS = 2_000


def run_case(case: Case) -> Row:
    """What a case gives: distances of every way of choosing, scores, bytes."""
    network = network_of(str(case["network"]))
    rng = np.random.default_rng([case["seed"], case["rows"], case["sites"]])
    own = _own_variables(case, network, rng)
    tables, held_out = _tables(case, network, own, rng)
    pooled = Dataset(network.schema, np.concatenate([t.codes for t in tables.values()]))
    outcome = _outcome(case, tables, pooled, network)
    found = {name: dag for name, dag in outcome.items() if isinstance(dag, DAG)}
    row: Row = {name: value for name, value in outcome.items() if not isinstance(value, DAG)}
    for name, dag in found.items():
        row[name] = smhd(dag, network.dag)
        row[f"{name}_shd"] = shd(dag, network.dag)
    score = make_score("bdeu", pooled)
    for name in ("today", "ladder", "counts", "climb", "pooled", *RULERS):
        if name not in found:
            continue
        row[f"{name}_bdeu"] = total_score(score, found[name])
        likelihoods = [predictive_log_likelihood(found[name], pooled, t) for t in held_out]
        row[f"{name}_held_out"] = float(np.mean(likelihoods))
    if own is not None:
        row["mechanisms_right"] = _right(outcome["mechanisms"], own)
    del row["mechanisms"]
    return row


def _tables(
    case: Case, network: BayesianNetwork, own: frozenset[str] | None, rng: np.random.Generator
) -> tuple[dict[str, Dataset], list[Dataset]]:
    """Site -> its table, and held-out rows of all sites together."""
    sites = int(case["sites"])
    if case["alpha"] is not None:
        whole = network.sample(case["rows"] * sites, rng)
        parts = partition_dirichlet_latent(whole, sites, float(case["alpha"]), rng)
        divided = {f"{i:03}": whole.take(part) for i, part in enumerate(parts)}
        return divided, [network.sample(HELD_OUT_ROWS, rng)]
    sources = [
        network
        if own is None
        else with_parameters_around(network, float(case["concentration"]), rng=rng, variables=own)
        for _ in range(sites)
    ]
    tables = {f"{i:03}": source.sample(case["rows"], rng) for i, source in enumerate(sources)}
    return tables, [source.sample(HELD_OUT_ROWS // sites, rng) for source in sources]


def _own_variables(
    case: Case, network: BayesianNetwork, rng: np.random.Generator
) -> frozenset[str] | None:
    """Whose tables are the sites' own; None where the sites are alike."""
    if case["concentration"] is None:
        return None
    if case["part"] != "mixed":
        return frozenset(network.names)
    half = rng.permutation(len(network.names))[: len(network.names) // 2]
    return frozenset(network.names[i] for i in half)


def _outcome(
    case: Case, tables: Mapping[str, Dataset], pooled: Dataset, network: BayesianNetwork
) -> dict[str, Any]:
    """Structures by the way they were found, and what it took."""
    rule = ConsensusSettings(choose="climb")
    replies, sent = _replies(case, tables)
    schema = network.schema
    state = ServerState(schema, len(replies))
    ladder = server_round(state, replies, (), rule).result
    assert ladder is not None
    counts, once = _choose_by_counts(ladder, tables, "counts", case["seed"])
    climb, more = _choose_by_counts(ladder, tables, "climb", case["seed"])
    assert climb.choice is not None
    sites = [reply.of_class(1.0).dags[0] for reply in replies]
    plain = LearnerSettings(learner=str(case["learner"]))
    return {
        "today": ladder.classes[0].consensus.dag,
        "ladder": ladder.consensus.dag,
        "counts": counts.consensus.dag,
        "climb": climb.consensus.dag,
        "pooled": learn(pooled, plain, np.random.default_rng(0)).dags[0],
        **(_rulers(pooled) if case["part"] == "untuned" else {}),
        "vote": edge_vote(sites),
        **{f"k_{fused.row_weight:g}": fused.consensus.dag for fused in ladder.classes},
        **{
            f"vote_{fused.row_weight:g}": edge_vote(
                [r.of_class(fused.row_weight).dags[0] for r in replies]
            )
            for fused in ladder.classes[1:]
        },
        "site": float(np.mean([smhd(dag, network.dag) for dag in sites])),
        "site_shd": float(np.mean([shd(dag, network.dag) for dag in sites])),
        "row_weight": ladder.row_weight,
        "structure_bytes": sent,
        "count_bytes": once,
        "climb_bytes": more,
        "requests": climb.choice.requests,
        "families": climb.choice.families,
        "counts_cut_short": counts.choice is not None and counts.choice.cut_short,
        "climb_cut_short": climb.choice.cut_short,
        "climb_unguarded": climb.choice.unguarded,
        "mechanisms": counts.choice.mechanisms if counts.choice else (),
    }


def _rulers(pooled: Dataset) -> dict[str, DAG]:
    """What every learner that may be the best finds on all rows."""
    return {
        learner: learn(pooled, LearnerSettings(learner=learner), np.random.default_rng(0)).dags[0]
        for learner in RULERS
    }


def _replies(case: Case, tables: Mapping[str, Dataset]) -> tuple[list[ClientReply], int]:
    """What the sites send, once per row weight; bytes of one site's message, in the mean."""
    score = str(case["score"])
    weight = "ladder" if score == "bdeu" else 1.0
    settings = LearnerSettings(learner=str(case["learner"]), score=score, row_weight=weight)
    replies, sent = [], 0
    for place, (site, table) in enumerate(tables.items()):
        rng = site_rng(case["seed"], place, 1)
        message, _ = client_round(table, table.schema, settings, rng)
        sent += sum(array.nbytes for array in to_arrays(message).values())
        replies.append(
            ClientReply(
                site, message.dags, message.weights, "complete", row_weights=message.row_weights
            )
        )
    return replies, sent // len(tables)


def _choose_by_counts(
    result: FederationResult, tables: Mapping[str, Dataset], choose: str, seed: int
) -> tuple[FederationResult, int]:
    """The result by counts, and the bytes of one site's answers."""
    rule = ConsensusSettings(choose=choose)
    dialogue = begin_choosing(result, rule, ess=1.0, seed=seed)
    sent = 0
    while (wanted := dialogue.request()) is not None:
        answers = {site: answer_request(wanted, table, 1.0) for site, table in tables.items()}
        first = next(iter(answers.values()))
        sent += sum(array.nbytes for array in answer_to_arrays(wanted, first).values())
        dialogue = dialogue.hear(answers)
    return dialogue.conclude(result), sent


def _right(mechanisms: Any, own: frozenset[str]) -> float:
    """Share of the variables whose mechanism is rightly said to be shared or each site's own."""
    return float(np.mean([each.shared == (each.variable not in own) for each in mechanisms]))
