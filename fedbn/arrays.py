"""The kinds of arrays that annotations name, each once: what is counted, measured, indexed, coded.

Shapes stand where an array is used, in docstrings.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]  # of any kind: what a message may hold
Bits = NDArray[np.uint64]  # 64-bit words: sets of nodes, inputs or bytes, one bit a member
Bools = NDArray[np.bool_]  # adjacency matrices and choices of rows
Codes = NDArray[np.int32]  # states of categorical variables, numbered from 0
Floats = NDArray[np.float64]  # costs, scores, weights, duals, measured values
Indices = NDArray[np.intp]  # positions in another array: rows, nodes, columns
Ints = NDArray[np.int64]  # counts, node numbers, positions inside kernels
Ints32 = NDArray[np.int32]  # the same where many are kept
Structure = Ints32 | Bits  # the arcs of a graph, or the parents of every node
Masked = NDArray[np.unsignedinteger]  # integers modulo 2**16, 2**32 or 2**64, under masks
