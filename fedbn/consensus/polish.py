"""Beyond the paper: lower the mean SMHD of a chosen consensus by single-edge changes.

The consensus need not be a local optimum of the distance by which it was chosen. From it, the valid
addition, deletion or reversal that lowers the mean SMHD to the inputs most is applied until none
does. The result is no state of the path any more; the certificate stays the same lower bound.
Inputs that had no say in the consensus (reading `others`) have none here, so its mean SMHD to all
of them may rise.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from fedbn.consensus.directions import nearest_member
from fedbn.consensus.far_inputs import with_say
from fedbn.consensus.path import McbncPath
from fedbn.consensus.threshold import Consensus
from fedbn.consensus.votes import mean_smhd_by_votes, votes_of
from fedbn.fusion.median import descend_to_median
from fedbn.graphs.dag import DAG


@dataclass(frozen=True)
class Polished:
    """The polished consensus, its distance and its gap."""

    dag: DAG
    mean_smhd: Fraction
    gap: Fraction


def polish(consensus: Consensus, path: McbncPath, max_treewidth: int | None = None) -> Polished:
    """The local optimum of the mean SMHD that greedy descent reaches from `consensus`.

    Parameters
    ----------
    consensus : chosen on `path`.
    path : gives the inputs and their weights.
    max_treewidth : the bound that the consensus keeps, if there is one.
    """
    known, heard = path.knowledge, path.inputs
    if consensus.reading == "others":
        heard = with_say(consensus.dag, path.inputs)
    lowest = descend_to_median(heard, consensus.dag, known, max_treewidth)
    dag = nearest_member(lowest, votes_of(heard), known)
    after = mean_smhd_by_votes(dag, votes_of(path.inputs))
    return Polished(
        dag=dag,
        mean_smhd=after,
        gap=after - consensus.lower_bound,
    )
