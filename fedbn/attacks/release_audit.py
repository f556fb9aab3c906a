"""Is a mechanism of noisy sums what it claims? Replays of its releases on a neighbour.

The counterpart of `audit.replay` for releases: exact, but it needs the transcript.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from fedbn.arrays import Floats, Ints
from fedbn.data.dataset import Dataset
from fedbn.privacy.releases import Releaser, ReleaseTranscript


@dataclass(frozen=True)
class ReleaseReplay:
    """What the releases of a run would have been on a neighbour.

    Attributes
    ----------
    same_questions : the same sums were asked for; without that nothing is private.
    within_claims : no release moved by more than it says, nor cost more than its share.
    largest_share : the largest of what a release cost on this neighbour over its share of ρ.
    rho : Σ of squared moves over 2 σ².
    allowed_rho : the claimed ρ of all releases.
    releases : how many were compared.
    """

    same_questions: bool
    within_claims: bool
    largest_share: float
    rho: float
    allowed_rho: float
    releases: int

    @property
    def caught(self) -> bool:
        """Whether the mechanism is not what it claims."""
        return not self.same_questions or not self.within_claims or self.rho > self.allowed_rho


def replay_releases(
    mechanism: Callable[[Dataset, Releaser], object],
    transcript: ReleaseTranscript,
    neighbour: Dataset,
    claimed: Fraction,
) -> ReleaseReplay:
    """Repeat a run on a table with one row more or less, with the noisy sums of the transcript.

    Parameters
    ----------
    mechanism, transcript, neighbour : as for `fedbn.attacks.audit.replay`.
    claimed : the ρ that all releases claim to keep together.
    """
    follower = _Follower(transcript, claimed)
    same = True
    try:
        mechanism(neighbour, follower)
    except _OtherQuestionError:
        same = False
    spent = sum(follower.costs, Fraction(0))
    return ReleaseReplay(
        same_questions=same and len(follower.costs) == len(transcript.releases),
        within_claims=follower.within_claims,
        largest_share=float(max(follower.shares, default=Fraction(0))),
        rho=float(spent),
        allowed_rho=float(claimed),
        releases=len(follower.costs),
    )


class _OtherQuestionError(Exception):
    """The neighbour is asked for other sums."""


class _Follower:
    """Answers what the transcript answered, and compares the sums."""

    def __init__(self, transcript: ReleaseTranscript, claimed: Fraction) -> None:
        self._releases, self._claimed = transcript.releases, claimed
        self.within_claims = True
        self.costs: list[Fraction] = []
        self.shares: list[Fraction] = []

    def release(
        self,
        asked: Hashable,
        sums: Ints,
        squared_sensitivity: int,
        share: Fraction,
    ) -> tuple[Floats, int]:
        done = len(self.costs)
        if done >= len(self._releases) or self._releases[done].asked != asked:
            raise _OtherQuestionError
        before = self._releases[done]
        moves = (int(now) - then for now, then in zip(sums, before.sums, strict=True))
        squared = sum(move * move for move in moves)
        self.costs.append(Fraction(squared, 2 * before.variance))
        self.shares.append(self.costs[-1] / (share * self._claimed))
        if squared > squared_sensitivity or self.shares[-1] > 1:
            self.within_claims = False
        return np.array(before.noisy, dtype=np.float64), before.variance
