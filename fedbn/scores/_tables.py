"""What the score kernels read and write, and the function of sets that they compute.

All scores here give every member of an equivalence class the same total. So there is a function J
of *sets* with

    s(y, P) = J(P ∪ {y}) - J(P),

the log-score of a complete graph over the set. One stored number per set then serves every node
of the set as the child, and an operator's gain is a sum of four of them.

    BDeu       J(A) = Σ_cells [ln Γ(k n_c + α) - ln Γ(α)], α = ess / Π_{a in A} r_a; the cells
               are the observed configurations of A, unseen ones contribute exactly 0
    BIC, AIC   J(A) = k Σ_cells n_c ln n_c - penalty (Π_{a in A} r_a - 1)
    Gaussian   J(A) = constant[|A|] - exponent[|A|] ln det gram[A, A]   (BIC and BGe)

k is the row weight, by which every count is multiplied; k N ln k is left out of BIC and AIC, as it
is the same for every set. Gaussian tables hold k in `constant`, `exponent` and `gram`.

Where to find it: `_joint_kernels.py` J of one set and of one set with many additions;
`_cell_kernels.py` the terms of the cells; `_bitmap_kernels.py` and `_row_kernels.py` the two ways
of counting; `_store_kernels.py` the stored values; `_gaussian_kernels.py` determinants;
`_preparation_kernels.py` what is made of a table before anything is counted.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedbn.kernel_state import by_reference

__all__ = [
    "BDEU",
    "CLASSES",
    "COUNTED",
    "EMPTIED",
    "GAUSSIAN",
    "INFORMATION",
    "LANES",
    "LOOKED_UP",
    "RADIX",
    "SIZE",
    "STORED",
    "TOGETHER",
    "WITH_BITMAPS",
    "WITH_ROWS",
    "ZERO",
    "Integer",
    "Tables",
    "Terms",
]

Integer = Any  # int64 in compiled code, int or a numpy integer for the type checker

BDEU, INFORMATION, GAUSSIAN = 0, 1, 2
STORED, COUNTED, EMPTIED, SIZE = 0, 1, 2, 3  # of `counters`
CLASSES, WITH_BITMAPS, WITH_ROWS, RADIX = 0, 1, 2, 3  # of `context`
LANES = 8  # several row weights are summed by so many at a time
LOOKED_UP = 128  # counts below this are small: Stirling's series is for the others
TOGETHER = 8  # columns of a Gaussian set's further members that are solved side by side
ZERO = np.uint64(0)


@by_reference
class Terms(NamedTuple):
    """What the cells of a table add to J, for sets by their Π r; R rungs."""

    kind: int  # BDEU or INFORMATION
    parameter: float  # BDeu: ess
    row_weight: NDArray[np.float64]  # [R]: k ≥ 1
    penalty: NDArray[np.float64]  # [R]: INFORMATION: per free parameter
    units: NDArray[np.float64]  # [R]: how many units are a nat, a power of two
    size: NDArray[np.float64]  # [slots]: ln Π r that a slot belongs to, or -1
    alpha: NDArray[np.float64]  # [slots]: BDeu: ess / Π r
    offset: NDArray[np.float64]  # [slots]: BDeu: ln α - ln Γ(1 + α)
    base: NDArray[np.float64]  # [slots, R]: BDeu: ln Γ(α)
    probe: int  # the rung that shows whether the terms of a count are known
    unknown: int  # counts below this are known from the start
    known: NDArray[np.int64]  # [slots, counts + 1, lanes]: terms in units, 0 where not known
    sums: NDArray[np.int64]  # [lanes]: of one set; R lanes are used


@by_reference
class Tables(NamedTuple):
    """What the kernels read and the scratch they write; n variables, M merged rows, R rungs."""

    kind: int  # BDEU, INFORMATION or GAUSSIAN
    n_rows: int
    rung: int  # which of the row weights, for which all J are stored, is asked for
    row_weight: float  # k ≥ 1 of this rung
    parameter: float  # BDeu: ess; INFORMATION: penalty per free parameter
    codes: NDArray[np.uint16]  # [n, M]
    weights: NDArray[np.int32]  # [M] how many rows were merged
    merged: bool  # whether some weight exceeds 1
    arities: NDArray[np.int64]  # [n]
    modes: NDArray[np.int64]  # [n]: the most frequent state
    other_start: NDArray[np.int64]  # [n + 1]: where a variable's other rows begin
    other_rows: NDArray[np.int32]  # the merged rows in which a variable is not in its mode
    other_codes: NDArray[np.uint16]  # the state in each of them
    first_state: NDArray[np.int64]  # [n]: where a variable's bitmaps begin
    bitmaps: NDArray[np.uint64]  # [states, words] over the rows before merging; or [0, 0]
    gram: NDArray[np.float64]  # [n, n]
    constant: NDArray[np.float64]  # [n + 1] by size of the set
    exponent: NDArray[np.float64]  # [n + 1] by size of the set
    signs: NDArray[np.uint64]  # [n, 2]: a set's key is the exclusive or of its members' signs
    keys: NDArray[np.uint64]  # [2 capacity, 2]: the store of J
    values: NDArray[np.float64]  # [2 capacity, R]
    counters: NDArray[np.int64]  # [4]: stored, counted sets, store emptied, its present size
    terms: Terms
    context: NDArray[np.int64]  # [4]: number of classes (configuration of P, state of y); which
    # ways of counting are ready; how many `configurations` could be
    row_class: NDArray[np.int32]  # [M]: class of each row
    row_counts: NDArray[np.int32]  # [limit]: rows in each of these classes
    cells: NDArray[np.int32]  # [limit]: a dense table of counts
    margin: NDArray[np.int32]  # [limit]: a table of counts without y
    hash_keys: NDArray[np.int64]  # [H]
    hash_labels: NDArray[np.int32]  # [H]
    classes: NDArray[np.uint64]  # [3, max_classes, words]: result and two steps of its making
    class_counts: NDArray[np.int32]  # [max_classes]
    configurations: NDArray[np.int64]  # [3, max_classes]: which configurations of P, by mixed radix
    factor: NDArray[np.float64]  # [n + 1, n + 1]: Cholesky factor, below the diagonal
    inverse: NDArray[np.float64]  # [n + 1]: 1 / its diagonal
    log_det: NDArray[np.float64]  # [n + 2]: ln det of gram over the first members of the factor
    determined: NDArray[np.bool_]  # [n + 2]: whether the first members nearly determine one of them
    factored: NDArray[np.int64]  # [n + 2]: the members of its rows, then -1
    columns: NDArray[np.float64]  # [n + 1, TOGETHER]: of what is added to the factor's members
    members: NDArray[np.int64]  # [n + 2]
