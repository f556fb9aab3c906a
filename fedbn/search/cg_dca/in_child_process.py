"""`learn_cg_dca` in a process of its own: a solver that crashes does not end the caller.

python -m fedbn.search.cg_dca.in_child_process    (the child; nobody else needs to run it)
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fedbn.search.cg_dca.algorithm2 import CGDCAResult, learn_cg_dca
from fedbn.search.child_process import Answer, answer_of, serve

if TYPE_CHECKING:
    import numpy as np

    from fedbn.scores.base import TabulatedScore

GRACE = 30.0  # seconds for the start of the child, one pricing and one solver call
CHILD = (sys.executable, "-m", "fedbn.search.cg_dca.in_child_process")


def learn_isolated(
    score: TabulatedScore,
    *,
    seconds: float | None = None,
    rng: np.random.Generator,
    child: Sequence[str] = CHILD,
    **options: Any,
) -> Answer:
    """`learn_cg_dca` in a child process, and what it took; parameters and errors as there.

    Parameters
    ----------
    seconds : kept by force: a child that is `GRACE` seconds late is killed.
    child : the command to run (see `fedbn.search.child_process`).

    Raises
    ------
    SearchError : besides, the child ended without a result.
    """
    task = (score, options | {"seconds": seconds, "rng": rng})
    allowed = None if seconds is None else seconds + GRACE
    return answer_of(child, task, allowed, CGDCAResult)


def _learn(task: tuple[TabulatedScore, dict[str, Any]]) -> CGDCAResult:
    score, options = task
    return learn_cg_dca(score, **options)


if __name__ == "__main__":
    serve(_learn)
