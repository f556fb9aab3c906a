"""What a reader of a consensus must be told: sentences, the same in every output."""

from __future__ import annotations

from fedbn.consensus.path import DeletionPath, McbncPath
from fedbn.consensus.threshold import Consensus
from fedbn.wording import count_of

__all__ = ["remarks"]

PAIRS_NAMED = 10


def remarks(path: DeletionPath, consensus: Consensus) -> tuple[str, ...]:
    """Warnings about a consensus on `path`: none where all is well.

    - A path was cut short by its limit of time or memory, and what the consensus is instead.
    - Every input joins a pair of variables that the consensus does not join.
    - A quorum kept rare arcs out of the fusions.
    - The gap is more than half of the lower bound: a sign of an input that is unlike the others.
    """
    said = []
    if path.cut_short:
        said.append(_cut_short(path, consensus))
    if consensus.missing_pairs:
        named = ", ".join(f"{a} - {b}" for a, b in consensus.missing_pairs[:PAIRS_NAMED])
        more = len(consensus.missing_pairs) - PAIRS_NAMED
        rest = f" and {count_of(more, 'more pair')}" if more > 0 else ""
        said.append(f"every input joins {named}{rest}, and the consensus does not")
    if isinstance(path, McbncPath) and path.quorum > 1:
        said.append(
            f"a quorum of {path.quorum} structures kept rarer arcs out of the fusion: it is no "
            "union, and the consensus may lack what the whole path has"
        )
    if consensus.gap > consensus.lower_bound / 2:
        said.append(
            f"the consensus is far from the inputs: its mean SMHD to them is "
            f"{float(consensus.mean_smhd):.2f}, and a DAG at {float(consensus.lower_bound):.2f} is "
            "not excluded; look for inputs unlike the others, try another pooling (robust)"
        )
    return tuple(said)


def _cut_short(path: DeletionPath, consensus: Consensus) -> str:
    ends = [(path.pooling, path.status), *path.rivals]
    stopped = " and ".join(f"{pooling} ({status})" for pooling, status in ends if _is_cut(status))
    source = f"a state of the path {consensus.pooling}"
    if consensus.reading == "vote":
        source = "the edge vote of the inputs"
    return f"the search was cut short, path {stopped}: the consensus is {source}, not the best one"


def _is_cut(status: str) -> bool:
    return status in ("time limit", "memory limit")
