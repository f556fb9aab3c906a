"""What the kernels of the Greedy Delete read and write, and why few cuts suffice.

Sets of nodes are rows of uint64 words, bit j of word j >> 6. For every edge x -> y of the CPDAG P
(undirected ones with x < y: both orientations have the same NA and the same parents of y, hence
the same cuts) the search keeps *slots* that together stand for all subsets H of NA_yx with at most
k_max elements. A slot (H, F, U): H is left out of S, S contains F, and the elements of U are
undecided. Its kind: OPERATOR, U is empty; FAMILY, all H + T with T in U; REST, the same without H
itself.

Bounds (a slot never needs more than its bound to be known not to be the best):

1. Sub-families. Let low = F and high = F + U. For every S with low <= S <= high the graph
   moral(An({x, y} + low)) - high is a subgraph of moral(An({x, y} + S)) - S: ancestors grow with
   the set, arcs and marriages grow with the ancestors, and more is removed. Minimum cuts are
   monotone in the graph, so mincut(low, high) bounds the whole family from below; U empty:
   equality.
2. Adjacency. x and y joined by an arc of input i: its cut is at least 1. `votes` keeps the sums.
3. Arcs of an input only ever disappear, so its ancestral moral graphs only shrink: a cached value
   is an upper bound for ever. Hence a cached 0 stays 0, and a cached 1 stays 1 while x and y are
   joined. Any other value is kept iff no removed arc a -> b had b in An({x, y} + high), else what
   it was computed from may have changed and it falls back to bound 2.
4. Certain ancestors. A node with more descendants in U than H may still grow by is in
   An({x, y} + S) of every member, for one of those is in S; so are its ancestors. Bound 1 holds
   with these nodes added to An({x, y} + low), too.
5. What is known of (low', high') says something of (low, high): the first graph is a subgraph of
   the second if low' is in An({x, y} + low) and high - high' has nothing in An({x, y} + low'); if
   the same holds the other way, the graphs and the cuts are equal (`carry`).

Bound 1 is attained in each input by S = high intersected with An({x, y} + low); only because inputs
disagree on that S, and H is limited, must families be split: on an element of disagreement.
So the best operator is found by best-first search over slots in the order (bound, x, y, |H|, H).

Where to find it: `_moral_kernels.py` the rows of an input; `_cut_kernels.py` minimum cuts;
`_typical_kernels.py` one cut for many inputs; `_difference_kernels.py` how they differ;
`_row_kernels.py` what that changes; `_input_kernels.py` the inputs and the arcs they lose;
`_slot_kernels.py` the slots, their bounds and their order; `_bound_kernels.py` the cached cuts;
`_carry_kernels.py` what one slot's cuts say of another; `_split_kernels.py` the splitting of
families; `_pattern_kernels.py` Delete in P; `_best_deletion_kernels.py` the search.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedbn.arrays import Bits
from fedbn.kernel_state import by_reference

Integer = Any  # int64 in compiled code, int or a numpy integer for the type checker

DEAD = np.int64(2**62)  # the bound of a slot that holds no valid operator
OPERATOR, FAMILY, REST = 0, 1, 2
PA, CH, ANC, DES, MOR = range(5)  # of an input: parents, children, ancestors, ..., moral graph
NE = 2  # of P: undirected neighbours, after parents and children
X, Y, FIRST = range(3)
NA, PAX = range(2)
OWNER, AFTER, KIND, UNKNOWN = range(4)
H, F, U = range(3)
K_MAX, CLIP, MEDIAN, SLACK, ALIKE = range(5)
FREE, REMOVED_ARCS, STEPS, USED_SLOTS = range(4)
INSIDE, ALLOWED, REACH = range(3)
TAILS, HEADS = range(2)
UNLIKE, CROSSED, LEFT, SOME, OTHER = range(5)
DIFFERENT, ALONE = range(2)
ROW, USED = range(2)
HAVE, ORIGIN, QUEUE, TOUCHED = range(4)


@by_reference
class Engine(NamedTuple):
    """All arrays of a running search, changed in place; r inputs, n nodes, E edges, C slots."""

    graphs: Bits  # [r, 5, n, W]: PA, CH, ANC and DES (with the node itself), MOR of every input
    topo: NDArray[np.int64]  # [r, n]: a topological order of every input
    typical: Bits  # [5, n, W]: a graph that most inputs resemble; it loses arcs as they do
    typical_topo: NDArray[np.int64]  # [n]
    differs: NDArray[np.int32]  # [r, D, 2]: the arcs that one of input and `typical` has
    differing: NDArray[np.int64]  # [r]: how many; -1 if more than D, once and for all
    marks: Bits  # [2, 2, n, R]: the inputs in which such an arc (DIFFERENT), or one that `typical`
    # lacks (ALONE), leaves (TAILS) or enters (HEADS) a node, bit i of word i >> 6; an input with
    # more than D arcs is in every row
    weights: NDArray[np.int64]  # [r]
    votes: NDArray[np.int64]  # [n, n]: weight of the inputs that join a pair by an arc
    p: Bits  # [3, n, W]: PA, CH, NE of P
    dag: Bits  # [2, n, W]: PA, CH of a consistent extension of P
    places: NDArray[np.int64]  # [2, n]: a topological order of `dag`, and the place of every node
    edge: NDArray[np.int64]  # [n, n]: number of the edge of P that joins a pair, or -1
    edges: NDArray[np.int64]  # [E, 3]: X, Y and FIRST, its first slot
    edge_sets: Bits  # [E, 2, W]: NA_yx and PAX = Pa(y) - x
    joined: NDArray[np.int8]  # [E, r]: 1 where an arc of the input joins the pair
    slots: NDArray[np.int64]  # [C, 4]: OWNER (edge, -1 free), AFTER (next), KIND, UNKNOWN (inputs)
    sets: Bits  # [C, 3, W]: H, F, U
    bound: NDArray[np.int64]  # [C]: of Ψ, times the sum of the weights
    cut: NDArray[np.int16]  # [C, r]: v >= 0 exact; -1 - b: at least b
    limits: NDArray[np.int64]  # [5]: K_MAX; CLIP, a cut counts as at most this; MEDIAN, 1 or 0;
    # SLACK, by how much a bound may overtake the next best one before the search turns to that;
    # ALIKE, how many cuts must be wanted before that of the typical graph is; more than r: never
    counters: NDArray[np.int64]  # [4]: FREE (first free slot); REMOVED_ARCS and STEPS so far;
    # USED_SLOTS, below which all slots are that were ever taken
    steps: NDArray[np.int64]  # [E, 3]: x, y and Ψ of every deletion, as in `bound`
    step_h: Bits  # [E, W]: its H
    arcs: NDArray[np.int32]  # [arcs, 4]: (step, input, a, b) of the arcs a -> b removed


@by_reference
class Scratch(NamedTuple):
    """Working memory."""

    sets: Bits  # [3, W]: INSIDE, the ancestral set; ALLOWED, without S; REACH from y
    rows: Bits  # [2, n, W]: ROW of the graph; USED, where an edge carries flow away from the node
    lists: NDArray[np.int64]  # [4, n]: HAVE (row fetched), ORIGIN, QUEUE, TOUCHED
    size: NDArray[np.int64]  # [1]: number of touched nodes
    spare: Bits  # [8, W]
    inputs: Bits  # [5, R]: sets of inputs: UNLIKE the typical graph, or CROSSED by new edges, for
    # what is asked; LEFT to be looked at one by one; two more
    score: NDArray[np.int64]  # [64 W]


def make_scratch(n: int, words: int, r: int = 1) -> Scratch:
    """Zeroed working memory for r graphs of n nodes."""
    return Scratch(
        sets=np.zeros((3, words), np.uint64),
        rows=np.zeros((2, n, words), np.uint64),
        lists=np.zeros((4, n), np.int64),
        size=np.zeros(1, np.int64),
        spare=np.zeros((8, words), np.uint64),
        inputs=np.zeros((5, (r + 63) // 64), np.uint64),
        score=np.zeros(64 * words, np.int64),
    )
