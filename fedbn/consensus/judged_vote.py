"""The edge vote, less the edges that judges separate.

Where sites have different variables, a site without m in x -> m -> y has a true dependence of x
and y, and votes for an edge that is none. The sites that have m can judge "x and y are independent
given m". So edges are deleted from the vote as MCBNC deletes them from G+, by the share of judges
in whose structure S does not separate x and y, while that share is at most a half.

If all inputs have all variables, this is the vote: an edge that more than half of the inputs have
is cut in none of these. Where it is nearer to the network than the path from G+ is measured by
`python -m simulations.studies.different_variables.judged_votes`.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from fractions import Fraction

from fedbn.consensus.directions import nearest_member
from fedbn.consensus.mcbnc import path_from
from fedbn.consensus.threshold import path_states
from fedbn.consensus.votes import votes_of
from fedbn.errors import SearchError
from fedbn.fusion.baselines import arc_votes
from fedbn.fusion.inputs import MergedInputs, merge_inputs
from fedbn.fusion.weights import Weight
from fedbn.graphs.averaging import averaged_dag
from fedbn.graphs.dag import DAG
from fedbn.graphs.knowledge import Knowledge

HALF = Fraction(1, 2)


def judged_vote(
    dags: Sequence[DAG],
    weights: Sequence[Weight] | None = None,
    *,
    min_judges: int = 1,
    sites: Sequence[Hashable] | None = None,
) -> DAG:
    """Edges that more than half of the inputs have that see both ends, and no majority of judges
    separates.

    Parameters
    ----------
    dags, weights, min_judges, sites : as for `fedbn.consensus.mcbnc.mcbnc_path`; every DAG is over
        its own names.

    Raises
    ------
    StructureError, ConfigError : as of `mcbnc_path`.
    SearchError : the deletions need more memory than they may take.

    Examples
    --------
    >>> chain, without = DAG.from_edges("xmy", ["xm", "my"]), DAG.from_edges("xy", ["xy"])
    >>> judged_vote([chain, chain, without, without, without]).edges
    (('m', 'y'), ('x', 'm'))
    """
    found = judged_vote_of(merge_inputs(dags, weights, "union", sites), min_judges=min_judges)
    if found is None:
        from fedbn.consensus.deletions import MEMORY_LIMIT

        raise SearchError(
            "what judges leave of the edge vote was not found: its deletions need more than "
            f"{MEMORY_LIMIT >> 20} MiB"
        )
    return found


def judged_vote_of(
    inputs: MergedInputs,
    *,
    min_judges: int = 1,
    k_max: int = 10,
    knowledge: Knowledge | None = None,
    end: float | None = None,
) -> DAG | None:
    """`judged_vote` of merged inputs, which keeps the knowledge; None if it is not ready at `end`
    of `time.monotonic()`, or needs too much memory."""
    vote = averaged_dag(inputs.names, arc_votes(inputs), inputs.seen, HALF, knowledge)
    path = path_from(
        vote,
        inputs,
        threshold=HALF,
        pooling="clip",
        k_max=k_max,
        min_judges=min_judges,
        knowledge=knowledge,
        end=end,
    )
    if path.cut_short:
        return None
    votes = votes_of(inputs)
    return nearest_member(path_states(path, "search", votes)[-1].dag, votes, knowledge)
