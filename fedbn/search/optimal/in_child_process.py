"""`learn_optimal` in a process of its own: nothing that happens to a solver ends the caller.

The child gets the score through a pipe, limits its own memory (`RLIMIT_DATA`) and its time, and
sends back the result or the error. Where it crashes, is killed or stays silent past its time, the
ordering search over small parent sets gives a DAG; the result has met FALLBACK and says why.

    python -m fedbn.search.optimal.in_child_process    (the child; nobody else needs to run it)
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fedbn.errors import SearchError
from fedbn.limits import Limit
from fedbn.search.child_process import Answer, answer_of, serve
from fedbn.search.optimal.learn import OptimalResult, learn_optimal

if TYPE_CHECKING:
    from fedbn.graphs.knowledge import Knowledge
    from fedbn.scores.base import TabulatedScore

FALLBACK_PARENTS = 2
GRACE = 20.0  # seconds for the start and the end of the child, and for the last step of a solver
HEADROOM = 1 << 30  # bytes of the interpreter and its libraries
CHILD = (sys.executable, "-m", "fedbn.search.optimal.in_child_process")


def learn_isolated(
    score: TabulatedScore,
    method: str = "auto",
    *,
    seconds: float | None = None,
    memory: int | None = None,
    max_parents: int | None = None,
    rng: np.random.Generator,
    child: Sequence[str] | None = None,
    knowledge: Knowledge | None = None,
) -> Answer:
    """`learn_optimal` in a child process, and what it took; parameters and errors as there.

    But `seconds` and `memory` are kept by force: a child that is `GRACE` seconds late is killed,
    and one that allocates more than `memory` (and 1 GiB of its own) fails. Every end of the child
    but an answer, and a SearchError, lead to the fallback.

    Parameters
    ----------
    child : the command to run, `CHILD` by default (see `fedbn.search.child_process`).
    """
    task = (score, method, seconds, memory, max_parents, rng, knowledge)
    allowed = None if seconds is None else seconds + GRACE
    try:
        return answer_of(child or CHILD, task, allowed, OptimalResult)
    except SearchError as error:
        began = time.process_time()
        found = fallback(score, max_parents, rng, str(error), knowledge)
        return Answer(found, time.process_time() - began, 0.0)


def fallback(
    score: TabulatedScore,
    max_parents: int | None,
    rng: np.random.Generator,
    reason: str,
    knowledge: Knowledge | None = None,
) -> OptimalResult:
    """The ordering search's DAG over small parent sets, in `GRACE` seconds, with the reason."""
    cap = FALLBACK_PARENTS if max_parents is None else min(max_parents, FALLBACK_PARENTS)
    best = learn_optimal(
        score, "ordering", seconds=GRACE, max_parents=cap, rng=rng, knowledge=knowledge
    )
    return OptimalResult(
        best.dag, best.score, np.inf, np.inf, "heuristic",
        f"ordering search with at most {cap} parents, because {reason}", best.counters,
        frozenset({Limit.FALLBACK}),
    )  # fmt: skip


def _limit_memory(memory: int | None) -> None:
    """Let the system refuse what goes beyond; systems without such limits are left alone."""
    if memory is None:
        return
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_DATA, (memory + HEADROOM, memory + HEADROOM))


def _learn(task: tuple[Any, ...]) -> OptimalResult:
    score, method, seconds, memory, max_parents, rng, knowledge = task
    _limit_memory(memory)
    return learn_optimal(
        score, method, seconds=seconds, memory=memory, max_parents=max_parents, rng=rng,
        knowledge=knowledge,
    )  # fmt: skip


if __name__ == "__main__":
    serve(_learn)
