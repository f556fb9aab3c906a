"""The state of a greedy search over equivalence classes, as plain arrays for its kernels.

Notation of Chickering (2002): Ne(y) undirected neighbours, Pa(y) parents, Adj(x) either kind or
children, NA_yx = Ne(y) ∩ Adj(x). Sets are rows of uint64 words, W of them for n nodes.

Where to find it: `_insert_kernels.py`, `_delete_kernels.py`, `_turn_kernels.py` enumerate the
operators and their gains; `_path_kernels.py` tests condition (2); `_choice_kernels.py` chooses;
`_step_kernels.py` applies an operator; `_record_kernels.py` keeps what is known of operators and
says what a step makes void; `_knowledge_kernels.py` has required and forbidden edges;
`_clique_kernels.py` and `_set_kernels.py` serve them all; `_greedy_kernels.py` is the loop.

What makes it fast, and exact:
- For one y, every clique S of Ne(y) is met once; it serves all x with NA_yx ⊆ S at one time
  (T = S \\ NA_yx), so S ∪ Pa(y) is counted once for all of them.
- Operators with a positive gain stay on record per pair (x, y). A step makes the record of a pair
  void exactly if it changed something that its operators depend on. Where it only added to the
  cliques of Ne(y), the Inserts of the new cliques are added to the record.
- Condition (2), the paths from y to x, depends on the whole graph. It is tested when an operator
  is about to be chosen; one open path is kept and looked at first the next time. An open path
  stays open while no edge is removed or directed, so what a row can offer at most is kept too.
- A DAG of the class is carried along. A step reorders only the chain components that it concerns
  (Hauser & Bühlmann 2012, section 4): a perfect order that begins with the clique C that the
  operator asks for, so no search for an extension is needed; then the CPDAG is labelled anew.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedbn.arrays import Bits
from fedbn.kernel_state import by_reference

INSERT, DELETE, TURN = 0, 1, 2
DONE, PAUSED, BROKEN, FULL = 0, 1, 2, 3  # why the loop returns; FULL: the record must grow
PATH_NODES = 16  # longer open paths are not kept
TOLERANCE = 1e-9  # of 1 + |score|
ZERO = np.uint64(0)
ALL = ~ZERO


@by_reference
class Graph(NamedTuple):
    """A CPDAG and a DAG of its class, and scratch; n nodes, W words."""

    dag_pa: Bits  # [n, W]
    dag_ch: Bits
    pa: Bits  # [n, W]: of the CPDAG
    ch: Bits
    ne: Bits
    adj: Bits
    queue: NDArray[np.int64]  # [n]
    before: NDArray[np.int64]  # [n]
    rank: NDArray[np.int64]  # [n]


@by_reference
class Record(NamedTuple):
    """Operators with a positive gain, per kind and pair [kind, y, x], as linked lists."""

    head: NDArray[np.int32]  # [3, n, n] first operator of the pair, or -1
    best: NDArray[np.float64]  # [3, n, n] greatest gain of the pair, or -inf
    row_best: NDArray[np.float64]  # [3, n] greatest gain of a row, valid or not
    ceiling: NDArray[np.float64]  # [3, n]: no valid operator of the row gains more
    stale: Bits  # [3, n, W]: the x whose pair [y, x] must be looked at again
    grown: NDArray[np.int64]  # [n, 2]: for Inserts of the other pairs of row y, only cliques with
    # these members of Ne(y) are new; -1 for none
    gain: NDArray[np.float64]  # [capacity]
    sets: Bits  # [capacity, W]: T of Insert, H of Delete, C of Turn
    path: NDArray[np.int32]  # [capacity, PATH_NODES]
    path_length: NDArray[np.int32]  # [capacity]: 0 if no open path is known
    barred: NDArray[np.bool_]  # [capacity]: background knowledge forbids it in the present graph
    following: NDArray[np.int32]  # [capacity]
    free: NDArray[np.int64]  # [1] first free entry, or -1


@by_reference
class Rules(NamedTuple):
    """Limits, background knowledge, and how ties are broken."""

    max_parents: int
    max_t: int
    hit: NDArray[np.int64]  # [2]: how often max_parents and max_t left an operator out
    floor: float  # a gain at most this is not kept: 0 in a search, -inf to see all operators
    forbidden: Bits  # [n, W]: row y has x if x -> y is forbidden
    required: Bits  # [n, W]: row y has x if x -> y is required
    apart: Bits  # [n, W] symmetric: never adjacent
    together: Bits  # [n, W] symmetric: always adjacent
    random_ties: bool
    random: Bits  # [1] SplitMix64


@by_reference
class Scratch(NamedTuple):
    """Work space of the enumeration."""

    choice: Bits  # [n + 1, W]: what may join the clique, by depth
    chosen: NDArray[np.int64]  # [n + 1]: the clique, as a list
    clique: Bits  # [W]: the clique, as a set
    subset: Bits  # [W]: T, H or C
    candidates: NDArray[np.int64]  # [n]: the x to look at
    parents: NDArray[np.int64]  # [n + 2]
    xs: NDArray[np.int64]  # [n]
    full: NDArray[np.float64]  # [n]
    part: NDArray[np.float64]  # [n]
