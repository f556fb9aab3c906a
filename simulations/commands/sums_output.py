"""What `fedbn simulate` says of secure sums, of one cohort or of several."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fedbn.results.summary import summarise
from fedbn.wording import count_of
from simulations.commands.choice_output import counts_json
from simulations.commands.fuse import consensus_json

if TYPE_CHECKING:
    from fedbn.federation.secure_rounds import SecureResult
    from fedbn.results.outcome import Outcome


def sums_json(result: SecureResult, outcome: Outcome | None, truth: Any) -> dict[str, Any]:
    """The keys of `simulate` that hold without the sites' structures, and those of the sums."""
    from fedbn.results.sums import sums_content, voted_content

    told = {"sums": sums_content(result), "refused": [list(pair) for pair in result.refused]}
    if outcome is None:
        dag = result.consensus.dag
        edges = [list(edge) for edge in dag.edges]
        return {"nodes": list(dag.names), "edges": edges, **voted_content(result, truth), **told}
    summary = summarise(outcome)
    return {
        **consensus_json(outcome.path, outcome.consensus, outcome.remarks),
        "fusion_to_gold": summary.fusion_to_gold,
        "smhd_to_gold": summary.smhd_to_gold,
        "shd_to_gold": summary.shd_to_gold,
        "held_out": summary.held_out,
        **counts_json(result.choice, result.schema),
        **told,
    }


def cost_words(result: SecureResult) -> str:
    """What the sums cost one site.

    Bytes are those of masked vectors and requests, without what Flower adds.
    """
    cost = result.cost
    words = (
        f"{count_of(cost.rounds, 'round')}; each site sent {cost.up / 1e6:.2f} MB and got "
        f"{cost.down / 1e6:.2f} MB"
    )
    if cost.site_seconds is None:
        return words
    return f"{words}; {1000 * cost.site_seconds / cost.rounds:.1f} ms CPU per site and round"
