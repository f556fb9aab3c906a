"""A search in a process of its own: whatever happens to its solver, the caller goes on.

The caller sends one pickled task to a module that is run as a program, and gets one pickled answer
back; what the solver prints does not get between. Both ends are fedbn's own code on one machine.
The child tells what the search took and what it took to get there: starting Python and reading
the task.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from fedbn.errors import FedbnError, SearchError

LONGEST = 1e6  # seconds: a process cannot wait for much more


@dataclass(frozen=True)
class Answer:
    """A result, the CPU seconds of the search, and those of the child before it began."""

    result: Any
    seconds: float
    startup_seconds: float


def answer_of(child: Sequence[str], task: object, seconds: float | None, expected: type) -> Answer:
    """What the child answers, its result being an `expected`.

    Parameters
    ----------
    child : the command to run; it reads a pickled task and writes a pickled answer (see `serve`).
    seconds : a child that is not done by then is killed; None for no limit.

    Raises
    ------
    SearchError : the child crashed, was killed, was too late, or sent something else.
    FedbnError : the child's own error.
    """
    wait = None if seconds is None else min(seconds, LONGEST)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    try:
        done = subprocess.run(
            child, input=pickle.dumps(task), capture_output=True, env=environment, timeout=wait
        )
    except subprocess.TimeoutExpired:
        raise SearchError(f"the solver did not end within {seconds:g} s") from None
    if done.returncode:
        raise SearchError(_end(done.returncode, done.stderr.decode(errors="replace")))
    try:
        answer: Any = pickle.loads(done.stdout)
    except Exception:
        raise SearchError("the solver's answer cannot be read") from None
    if isinstance(answer, FedbnError):
        raise answer
    if not isinstance(answer, Answer) or not isinstance(answer.result, expected):
        raise SearchError("the solver's answer is no result")
    return answer


def _end(code: int, told: str) -> str:
    """How a child ended without an answer, in words."""
    if code < 0:
        return f"the solver was ended by {signal.Signals(-code).name}"
    last = [line for line in told.splitlines() if line.strip()][-1:]
    if any("MemoryError" in line for line in last):
        return "the solver ran out of the memory that it may use"
    return f"the solver ended with code {code}" + (f": {last[0]}" if last else "")


def serve(compute: Callable[[Any], object]) -> None:
    """The child's side: one task from standard input, `compute`'s result to standard output."""
    task = sys.stdin.buffer.read()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a solver prints must not get between
    answer: object
    try:
        answer = run_timed(compute, pickle.loads(task))
    except FedbnError as error:
        answer = error
    with answers:
        pickle.dump(answer, answers)


def run_timed(compute: Callable[[Any], object], task: object) -> Answer:
    """`compute`'s result for the task, what it took, and what the process had taken before."""
    ready = time.process_time()
    result = compute(task)
    return Answer(result, time.process_time() - ready, ready)
