"""Delete(x, y, H): its enumeration. Definition: `operators.Delete`."""

from __future__ import annotations

import numpy as np

from fedbn.kernel_parts import inner_with_arrays
from fedbn.scores._joint_kernels import local
from fedbn.scores._tables import Integer, Tables
from fedbn.search._clique_kernels import family_without, next_clique
from fedbn.search._record_kernels import close_row, drop_stale, keep
from fedbn.search._set_kernels import members
from fedbn.search._state import DELETE, ZERO, Graph, Record, Rules, Scratch


@inner_with_arrays
def refresh_deletes(
    t: Tables, g: Graph, record: Record, rules: Rules, scratch: Scratch, y: Integer
) -> bool:
    """Look at Delete(x, y, H) for the stale pairs of row y; False if the record is full."""
    drop_stale(record, np.int64(DELETE), y)
    for w in range(g.ne.shape[1]):
        looked_at = record.stale[DELETE, y, w] & (g.pa[y, w] | g.ne[y, w])
        scratch.subset[w] = looked_at & ~rules.together[y, w]
    total = members(scratch.subset, scratch.candidates)
    for i in range(total):
        if not _keep_of_pair(t, g, record, rules, scratch, y, scratch.candidates[i]):
            return False
    close_row(record, np.int64(DELETE), y)
    return True


@inner_with_arrays
def _keep_of_pair(
    t: Tables, g: Graph, record: Record, rules: Rules, scratch: Scratch, y: Integer, x: Integer
) -> bool:
    """Keep what gains of Delete(x, y, H), NA_yx \\ H over the cliques of NA_yx; False if there
    is no room."""
    words = g.ne.shape[1]
    for w in range(words):
        scratch.choice[0, w] = g.ne[y, w] & g.adj[x, w]
        scratch.clique[w] = ZERO
    depth: Integer = np.int64(0)
    while depth >= 0:
        k = np.int64(family_without(g, y, scratch.clique, x, scratch.parents))
        gain = local(t, y, scratch.parents, k)
        scratch.parents[k] = x
        gain -= local(t, y, scratch.parents, k + 1)
        if gain > rules.floor:
            for w in range(words):
                scratch.subset[w] = g.ne[y, w] & g.adj[x, w] & ~scratch.clique[w]
            if not keep(record, np.int64(DELETE), y, x, gain, scratch.subset):
                return False
        depth = next_clique(g, scratch, depth, True)
    return True
