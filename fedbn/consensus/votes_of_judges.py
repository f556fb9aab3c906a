"""The votes of those sites that judge a pair, where sites have different variables.

A site without m in x -> m -> y rightly joins x and y, which sites with m do not. So by a given DAG:

    a site judges {x, y}  if it has both, and no path of a moral graph leads from x to y whose inner
                          variables, at least one, are all lacking at the site.

The moral graph is that of the ancestors of the site's variables: then x and y of such a path are
dependent given all else that the site has, if the DAG is right. So a pair that the site joins is
explained by what it lacks, and says nothing of an edge. A pair that it does not join is not. Hence
where nobody judges a pair, only those are heard who have both variables and do not join it; if all
join it, they all are.
"""

from __future__ import annotations

import numpy as np

from fedbn.arrays import Bools
from fedbn.consensus.votes import Votes, votes_of
from fedbn.fusion.inputs import MergedInputs
from fedbn.graphs.components import strong_labels
from fedbn.graphs.dag import DAG
from fedbn.graphs.moral import moral_ancestral_graph


def judged_pairs(has: Bools, moral: Bools) -> Bools:
    """bool [n, n], symmetric: the pairs that a site judges.

    Parameters
    ----------
    has : bool [n], the variables of the site.
    moral : bool [n, n], a moral graph.

    Examples
    --------
    >>> chain = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=np.bool_)
    >>> int(judged_pairs(np.array([True, False, True]), chain).sum())
    0
    >>> judged_pairs(np.array([True, True, False]), chain).astype(int).tolist()
    [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
    """
    judged: Bools = np.outer(has, has)
    np.fill_diagonal(judged, False)
    lacking = np.flatnonzero(~has)
    labels = strong_labels(moral[np.ix_(lacking, lacking)])
    for label in np.unique(labels):
        around = np.flatnonzero(moral[lacking[labels == label]].any(axis=0))
        judged[np.ix_(around, around)] = False
    return judged


def votes_of_judges(inputs: MergedInputs, dag: DAG) -> Votes:
    """The votes on every pair of those that are heard.

    Parameters
    ----------
    inputs : about different variables.
    dag : by which a pair is judged, over their names.

    Examples
    --------
    >>> from fedbn.fusion.inputs import merge_inputs
    >>> chain, without = DAG.from_edges("xmy", ["xm", "my"]), DAG.from_edges("xy", ["xy"])
    >>> inputs = merge_inputs([chain, without, without], None, "union")
    >>> votes_of(inputs).moral.tolist()
    [1, 1, 2]
    >>> votes_of_judges(inputs, chain.reorder(inputs.names)).moral.tolist()
    [1, 1, 0]
    """
    from fedbn._core.consensus import pair_votes

    assert inputs.observed is not None
    votes = votes_of(inputs)
    n = len(inputs.names)
    numbers = np.vstack([votes.moral, votes.classes, votes.arcs])
    heard, judging = np.zeros_like(numbers), np.zeros((n, n), dtype=np.int64)
    keys = votes.pairs @ (n, 1)
    for has, parents, weight in zip(
        inputs.observed, inputs.parent_bits, inputs.weight_array, strict=True
    ):
        judges = judged_pairs(has, moral_ancestral_graph(dag, np.flatnonzero(has)))
        judging += weight * judges
        pairs, own = pair_votes(parents[None], weight[None])
        kept = judges[tuple(pairs.T)]
        heard[:, np.searchsorted(keys, pairs[kept] @ (n, 1))] += own[:, kept]
    against = inputs.seen - votes.matrix(votes.moral)
    seen = np.where(judging > 0, judging, np.where(against > 0, against, inputs.seen))
    place = tuple(votes.pairs.T)
    numbers[:, against[place] > 0] = 0
    numbers = np.where(judging[place] > 0, heard, numbers)
    np.fill_diagonal(seen, np.diagonal(inputs.seen))
    return votes._replace(moral=numbers[0], classes=numbers[1:4], arcs=numbers[4:], seen=seen)
