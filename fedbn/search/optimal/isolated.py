"""`learn_optimal` in a process of its own: nothing that happens to a solver ends the caller.

The child gets the score through a pipe, limits its own memory (`RLIMIT_DATA`) and its time, and
sends back the result or the error. Where it crashes, is killed or stays silent past its time, the
ordering search over small parent sets gives a DAG, and the result says why: `limit` begins with
"fallback".

    python -m fedbn.search.optimal.isolated    (the child; nobody else needs to run it)
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fedbn.errors import FedbnError, SearchError
from fedbn.search.optimal.learn import OptimalResult, learn_optimal

if TYPE_CHECKING:
    from fedbn.scores.base import TabulatedScore

__all__ = ["FALLBACK", "learn_isolated"]

FALLBACK = "fallback"
FALLBACK_PARENTS = 2
GRACE = 20.0  # seconds for the start and the end of the child, and for the last step of a solver
HEADROOM = 1 << 30  # bytes of the interpreter and the compiled kernels
CHILD = (sys.executable, "-m", "fedbn.search.optimal.isolated")


def learn_isolated(
    score: TabulatedScore,
    method: str = "auto",
    *,
    seconds: float | None = None,
    memory: int | None = None,
    max_parents: int | None = None,
    rng: np.random.Generator,
    child: Sequence[str] | None = None,
) -> OptimalResult:
    """`learn_optimal` in a child process; parameters and errors as there, with these differences.

    `seconds` and `memory` are kept by force: a child that is `GRACE` seconds late is killed, and
    one that allocates more than `memory` (and 1 GiB of its own) fails. Every end of the child but
    an answer, and a SearchError, lead to the fallback.

    Parameters
    ----------
    child : the command to run, `CHILD` by default; it reads a pickled task and writes a pickled
        answer.
    """
    task = (score, method, seconds, memory, max_parents, rng)
    try:
        answer = _answer(child or CHILD, pickle.dumps(task), seconds)
    except SearchError as error:
        return _fallback(score, max_parents, rng, str(error))
    if isinstance(answer, SearchError):
        return _fallback(score, max_parents, rng, str(answer))
    if isinstance(answer, FedbnError):
        raise answer
    return answer


def _answer(child: Sequence[str], task: bytes, seconds: float | None) -> OptimalResult | FedbnError:
    """What the child sends back; raises SearchError where that is nothing of use."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    process = subprocess.Popen(
        child, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=environment,
    )  # fmt: skip
    with process:
        try:
            sent, told = process.communicate(task, None if seconds is None else seconds + GRACE)
        except subprocess.TimeoutExpired:
            process.kill()
            raise SearchError(f"the solver did not end {GRACE:g} s after its time") from None
        except BaseException:
            process.kill()
            raise
    if process.returncode:
        raise SearchError(_end(process.returncode, told.decode(errors="replace")))
    try:
        answer: Any = pickle.loads(sent)
    except Exception:
        raise SearchError("the solver's answer cannot be read") from None
    if isinstance(answer, (OptimalResult, FedbnError)):
        return answer
    raise SearchError("the solver's answer is no result")


def _end(code: int, told: str) -> str:
    """How a child ended without an answer, in words."""
    if code < 0:
        return f"the solver was ended by {signal.Signals(-code).name}"
    last = [line for line in told.splitlines() if line.strip()][-1:]
    if any("MemoryError" in line for line in last):
        return "the solver ran out of the memory that it may use"
    return f"the solver ended with code {code}" + (f": {last[0]}" if last else "")


def _fallback(
    score: TabulatedScore, max_parents: int | None, rng: np.random.Generator, reason: str
) -> OptimalResult:
    """The ordering search's DAG, with the reason."""
    cap = FALLBACK_PARENTS if max_parents is None else min(max_parents, FALLBACK_PARENTS)
    best = learn_optimal(score, "ordering", max_parents=cap, rng=rng)
    return OptimalResult(
        best.dag, best.score, np.inf, np.inf, "heuristic",
        f"ordering search with at most {cap} parents, because {reason}", best.counters,
        f"{FALLBACK}: {reason}",
    )  # fmt: skip


def _limit_memory(memory: int | None) -> None:
    """Let the kernel refuse what goes beyond; systems without such limits are left alone."""
    if memory is None:
        return
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_DATA, (memory + HEADROOM, memory + HEADROOM))


def main() -> None:
    """The child: one task from standard input, one answer to standard output."""
    task = sys.stdin.buffer.read()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a solver prints must not get between
    score, method, seconds, memory, max_parents, rng = pickle.loads(task)
    _limit_memory(memory)
    answer: OptimalResult | FedbnError
    try:
        answer = learn_optimal(
            score, method, seconds=seconds, memory=memory, max_parents=max_parents, rng=rng
        )
    except FedbnError as error:
        answer = error
    with answers:
        pickle.dump(answer, answers)


if __name__ == "__main__":
    main()
