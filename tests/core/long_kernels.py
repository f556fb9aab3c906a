"""Calls of the core that would take many minutes, for tests that end them.

python -m tests.core.long_kernels interrupt search.Kicks.iterate
    runs one, sends itself SIGINT, and prints what becomes of it.
python -m tests.core.long_kernels count search.Kicks.iterate
    runs one in a thread of its own, and counts in the main thread.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable

import numpy as np

from fedbn._core import consensus, credible, families, fusion, scores, search
from fedbn.credible.limits import Limits
from fedbn.graphs.bits import pack
from tests.core.calls import Case, many_bits

FOR_EVER = 1 << 60
DELAY = 0.5  # seconds until SIGINT
COUNTS = 100


def kicks() -> None:
    rules = {name: a.value for name, a in Case(12, 0).kick_arguments().items()}
    search.Kicks(**rules | {"patience": FOR_EVER}).iterate(None)


def class_search() -> None:
    """All cliques of a complete graph are subsets of its nodes."""
    n = 60
    score = scores.GaussianScore(np.eye(n), np.zeros(n + 1), np.ones(n + 1))
    complete = pack(np.tri(n, k=-1, dtype=bool))
    search.ClassSearch(score, complete).climb([search.Kind.delete])


def boss() -> None:
    n = 400
    rows = np.random.default_rng(0).normal(size=(n + 20, n)) @ np.tri(n)
    score = scores.GaussianScore(rows.T @ rows, np.zeros(n + 1), np.ones(n + 1))
    nothing = pack(np.zeros((n, n), dtype=bool))
    search.Boss(score, list(range(n)), nothing, nothing, None, FOR_EVER, None).improve(None)


def look_around() -> None:
    """Every family of up to one parent is known, and every kick is tried."""
    n = 400
    sets = np.concatenate(
        [
            np.zeros((n, n), dtype=bool),
            *(np.roll(np.eye(n, dtype=bool), k, axis=1) for k in range(1, n)),
        ]
    )
    values = np.random.default_rng(0).random(n * n)
    start, nothing = np.eye(n, k=-1, dtype=bool), pack(np.zeros((n, n), dtype=bool))
    search.look_around(
        [*range(n)] * n, pack(sets), values, pack(start), nothing, nothing, True, FOR_EVER
    )


def draw_missing() -> None:
    n, rows = 10, 10**6
    codes = np.zeros((n, rows), dtype=np.uint16)
    gone = np.ones((n, rows), dtype=bool)
    scores.draw_missing(codes, gone, [2] * n, [[] for _ in range(n)], 1.0, 1000, 1000, 1)


def draw_missing_mixed() -> None:
    n, rows = 10, 10**6
    table = np.random.default_rng(0).normal(size=(n, rows))
    gone = np.ones((n, rows), dtype=bool)
    scores.draw_missing_mixed(table, gone, [0] * n, [[] for _ in range(n)], 1000, 1000, 1)


def median() -> None:
    n = 1041
    half = np.tril(np.random.default_rng(0).integers(-9, 10, (n, n)))
    fusion.descend_to_median(pack(np.zeros((n, n), dtype=bool)), half + half.T)


def refusion() -> None:
    case = Case(30, 0)
    inputs = many_bits(case.dags(20)).value
    ones = np.ones(20, dtype=np.int64)
    arcs, cuts = np.zeros((0, 4), dtype=np.int32), np.zeros(10**8, dtype=np.int64)
    consensus.refusion_states(inputs, ones, arcs, cuts, ones, 1)


def undominated() -> None:
    """No set is inside another."""
    sets = 2 * 10**6
    bits = np.random.default_rng(0).integers(0, 2**63, sets).astype(np.uint64)
    families.are_undominated(bits[:, None], np.arange(sets, dtype=np.float64), 0.0)


def joint_values() -> None:
    n, rows = 30, 100_000
    codes = np.random.default_rng(0).integers(0, 4, (n, rows)).astype(np.uint16)
    bdeu = scores.DiscreteScore.rungs(scores.ScoreKind.bdeu, codes, [4] * n, [(1.0, 1.0)], 1 << 20)
    levels = families.ParentSetLevels.discrete(bdeu[0], 0.0)
    levels.joint_values(np.arange(levels.count(n, 8)), 8)


def dags_of_equal_cost() -> None:
    """Every DAG over 30 nodes, in a thread that Ctrl-C stops."""
    n = 30
    sets = np.zeros((2 * n, n), dtype=bool)
    for v in range(1, n):
        sets[2 * v + 1, v - 1] = True
    lowest = np.zeros(n)
    problem = credible.Problem.by_clusters(
        np.arange(0, 2 * n + 1, 2), np.zeros(2 * n), pack(sets), 1.0, lowest, lowest,
        np.zeros(2 * n), pack(np.zeros((0, n), dtype=bool)), np.zeros(0),
    )  # fmt: skip
    limits, listing = Limits(), credible.DepthFirst(problem)
    limits.run(listing.next, 1 << 40, FOR_EVER)
    if limits.interrupted and not listing.done:
        raise KeyboardInterrupt


LONG: dict[str, Callable[[], None]] = {
    "search.Kicks.iterate": kicks,
    "search.ClassSearch.climb": class_search,
    "search.Boss.improve": boss,
    "search.look_around": look_around,
    "scores.draw_missing": draw_missing,
    "scores.draw_missing_mixed": draw_missing_mixed,
    "fusion.descend_to_median": median,
    "consensus.refusion_states": refusion,
    "families.are_undominated": undominated,
    "families.ParentSetLevels.joint_values": joint_values,
    "credible.DepthFirst.next": dags_of_equal_cost,
}


def interrupt(kernel: Callable[[], None]) -> str:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
    threading.Timer(DELAY, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        kernel()
    except KeyboardInterrupt:
        return "interrupted"
    return "returned"


def count(kernel: Callable[[], None]) -> str:
    ended = threading.Event()

    def run() -> None:
        try:
            kernel()
        finally:
            ended.set()

    threading.Thread(target=run, daemon=True).start()
    for _ in range(COUNTS):
        time.sleep(0.01)
    return "returned" if ended.is_set() else f"counted to {COUNTS}"


if __name__ == "__main__":
    what, name = sys.argv[1:]
    print((interrupt if what == "interrupt" else count)(LONG[name]), flush=True)
    os._exit(0)  # the kernel in the thread does not end
