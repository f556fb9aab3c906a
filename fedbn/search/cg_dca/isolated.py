"""`learn_cg_dca` in a process of its own: a solver that crashes does not end the caller.

python -m fedbn.search.cg_dca.isolated    (the child; nobody else needs to run it)
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fedbn.errors import FedbnError, SearchError
from fedbn.search.cg_dca.loop import CGDCAResult, learn_cg_dca

if TYPE_CHECKING:
    from fedbn.scores.base import TabulatedScore

__all__ = ["learn_isolated"]

GRACE = 30.0  # seconds for the start of the child, one pricing and one solver call
CHILD = (sys.executable, "-m", "fedbn.search.cg_dca.isolated")


def learn_isolated(
    score: TabulatedScore,
    *,
    seconds: float | None = None,
    rng: np.random.Generator,
    child: Sequence[str] = CHILD,
    **options: Any,
) -> CGDCAResult:
    """`learn_cg_dca` in a child process; parameters and errors as there.

    Parameters
    ----------
    seconds : kept by force: a child that is `GRACE` seconds late is killed.
    child : the command to run; it reads a pickled task and writes a pickled answer.

    Raises
    ------
    SearchError : besides, the child ended without a result.
    """
    task = pickle.dumps((score, options | {"seconds": seconds, "rng": rng}))
    paths = os.pathsep.join(path for path in sys.path if path)
    try:
        done = subprocess.run(
            child,
            input=task,
            capture_output=True,
            env=os.environ | {"PYTHONPATH": paths},
            timeout=None if seconds is None else seconds + GRACE,
        )
    except subprocess.TimeoutExpired:
        raise SearchError(f"the search did not end {GRACE:g} s after its time") from None
    if done.returncode:
        raise SearchError(f"the search's process ended with code {done.returncode}")
    answer = pickle.loads(done.stdout)
    if isinstance(answer, FedbnError):
        raise answer
    assert isinstance(answer, CGDCAResult)
    return answer


def main() -> None:
    """The child: one task from standard input, one answer to standard output."""
    task = sys.stdin.buffer.read()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a solver prints must not get between
    score, options = pickle.loads(task)
    answer: CGDCAResult | FedbnError
    try:
        answer = learn_cg_dca(score, **options)
    except FedbnError as error:
        answer = error
    with answers:
        pickle.dump(answer, answers)


if __name__ == "__main__":
    main()
