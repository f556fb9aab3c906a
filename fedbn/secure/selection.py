"""The consensus on what secure sums have found, chosen among states of the paths as in the open
run: what the open run looks for beside these (far inputs ignored, a judged vote) is not there."""

from __future__ import annotations

from fractions import Fraction

from fedbn.consensus.path import as_threshold
from fedbn.consensus.pooling import prefer
from fedbn.consensus.threshold import Consensus, Reading, choose_among, states_of
from fedbn.secure.path import SecureBranch, SecurePath


def secure_consensus(
    path: SecurePath,
    reading: Reading = "best",
    theta: Fraction | float | str | None = None,
    max_treewidth: int | None = None,
) -> tuple[SecureBranch, Consensus]:
    """The branch that holds the preferred state, and the consensus on it.

    Parameters
    ----------
    path : from `secure_path`.
    reading, theta, max_treewidth : as in `consensus.threshold.select_consensus`.

    Raises
    ------
    ConfigError : θ is no number >= 0, or no state is within the bound.
    """
    wanted = None if theta is None else as_threshold(theta)

    def choose(branch: SecureBranch) -> Consensus:
        fusions = branch.fusions
        fused = None if reading == "search" or fusions is None else fusions
        states = states_of(branch, reading, fused, path.votes)
        return choose_among(
            branch,
            states,
            path.votes,
            wanted,
            compare_votes=reading == "best" and path.votes.seen is None,
            max_treewidth=max_treewidth,
        )

    return prefer(path.branches, choose)
