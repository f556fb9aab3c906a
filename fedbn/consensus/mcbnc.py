"""MCBNC: the whole path of consensus structures over the threshold θ.

"Bayesian Network Structural Consensus via Greedy Min-Cut Analysis" (AAAI-26, arXiv 2504.00467),
Algorithms 1 to 3. State: a CPDAG P, at first that of the unrestricted fusion G+, and the inputs,
which lose arcs on the way. While P has an edge, the valid Delete(x, y, H) of smallest criticality
Ψ(x, y, S), S = (NA_yx \\ H) + Pa(y) - {x}, is applied to P, and every input loses the arcs of its
minimum cut nearest to y (`min_cut.py`). θ after a step is the running maximum of Ψ, so the
consensus at any threshold is a prefix of this one path.

What differs from the paper, and why:
- NA_yx are the neighbours of y adjacent to x (Chickering 2002); the paper's eq. 8 misprints it.
- H is only taken when NA_yx \\ H is a clique (Chickering's validity), which Algorithm 3 omits.
- All H up to `k_max` elements count; none is sampled. Ψ is an exact rational, always that of the
  inputs as they are; the authors' program uses values from before an input lost an edge.
- Ties go to the smallest (x, y, |H|, H) in name order, H as a sorted tuple; with an `rng` in an
  order of the variables that it draws once for a path. Drawing among all tied operators would
  need all of them: many more cuts than the first one does (27 times the time on ten DAGs of andes).
- The paper treats Ψ as growing; it is not, hence the running maximum.
- On request Ψ is no mean, against hostile inputs (`Pooling`).
- On request background knowledge is kept: G+ has it (`fedbn.fusion.union`), and only operators that
  lead to a class with a member that keeps it are used. Required edges are never deleted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedbn.arrays import Bits, Indices, Ints
from fedbn.consensus.path import POOLINGS, McbncPath, Pooling, Step, as_threshold
from fedbn.errors import ConfigError, SearchError
from fedbn.fusion.inputs import MergedInputs, Variables, merge_inputs
from fedbn.fusion.union import Report, fuse_in_stages
from fedbn.fusion.weights import Weight
from fedbn.graphs.dag import DAG
from fedbn.graphs.knowledge import Knowledge

if TYPE_CHECKING:
    from fedbn._core.consensus import Deletions

Progress = Callable[[int, int], None]


def mcbnc_path(
    dags: Sequence[DAG],
    weights: Sequence[Weight] | None = None,
    *,
    k_max: int = 10,
    quorum: int = 1,
    rng: np.random.Generator | None = None,
    seconds: float | None = None,
    threshold: Fraction | float | str | None = None,
    pooling: Pooling = "mean",
    progress: Progress | None = None,
    stages: Report | None = None,
    knowledge: Knowledge | None = None,
    variables: Variables = "same",
    min_judges: int = 1,
    sites: Sequence[Hashable] | None = None,
) -> McbncPath:
    """Order, I-maps, union and all deletions.

    Parameters
    ----------
    dags : at least one, over the same names in any order, unless `variables` is "union".
    weights : one positive int or Fraction per DAG; 1 each by default.
    k_max : largest |H| of an operator, >= 0.
    quorum : how many of the given DAGs must have an arc in their I-map for a fusion to have it, G+
        as well as the reading "refusion"; >= 1. Not the paper's above 1: rare arcs are gone before
        the path begins, which is shorter for it, and G+ is no I-map of all inputs. Of an arc whose
        ends fewer than `quorum` DAGs are about, all of these must have it.
    rng : breaks ties at random: draws among the equally cheap nodes of the order heuristic, and
        the order of the variables in which the smallest (x, y, |H|, H) is deleted; without it both
        go by name.
    seconds : time budget of everything here, wall clock; when it is over, the path so far is
        returned, with the status "time limit".
    threshold : stop before the first deletion with Ψ > θ.
    pooling : "mean": Ψ is the weighted mean of the inputs' minimum cuts. Two deviations from the
        paper bound what a hostile input with a dense graph can do, which alone can hold an edge by
        a large cut. "clip": a cut counts as at most 1, so Ψ is the share of the inputs in which S
        does not separate x and y. "median": Ψ is the lower weighted median of the cuts, the
        smallest value that at least half of the weight does not exceed.
    progress : called as progress(deletions done, edges of G+).
    stages : called as stages("order" or "I-maps", done, of how many) before that.
    knowledge : what G+ and every state of the path keep (docs/decisions/026).
    variables : "same", or "union" where every DAG is over its own names. Ψ(x, y, S) is then pooled
        over the judges of S, the DAGs that are about x, y and all of S; if there is none, those
        about x, y and most of S.
    min_judges : where fewer sites have x, y and all of S, those with one variable of S less judge,
        too, and so on; all judge who have x and y if they are not so many.
    sites : for each DAG the site that it comes from; each is a site of its own by default.

    Raises
    ------
    StructureError : no DAG, or DAGs over different names.
    ConfigError : a weight, k_max, pooling, seconds or the threshold is out of its range, or the
        knowledge names a variable that the DAGs lack.
    SearchError : the time is over before there is a G+ from which to delete.

    Examples
    --------
    >>> chain = DAG.from_edges("abc", [("a", "b"), ("b", "c")])
    >>> lone = DAG.from_edges("abc", [("a", "b")])
    >>> [(s.x, s.y, str(s.psi)) for s in mcbnc_path([chain, chain, lone]).steps]
    [('b', 'c', '2/3'), ('a', 'b', '1')]
    """
    return mcbnc_paths(
        dags,
        weights,
        (pooling,),
        k_max=k_max,
        quorum=quorum,
        rng=rng,
        seconds=seconds,
        threshold=threshold,
        progress=progress,
        stages=stages,
        knowledge=knowledge,
        variables=variables,
        min_judges=min_judges,
        sites=sites,
    )[0]


def mcbnc_paths(
    dags: Sequence[DAG],
    weights: Sequence[Weight] | None = None,
    poolings: Sequence[Pooling] = ("mean", "clip"),
    *,
    k_max: int = 10,
    quorum: int = 1,
    rng: np.random.Generator | None = None,
    seconds: float | None = None,
    threshold: Fraction | float | str | None = None,
    progress: Progress | None = None,
    stages: Report | None = None,
    knowledge: Knowledge | None = None,
    variables: Variables = "same",
    min_judges: int = 1,
    sites: Sequence[Hashable] | None = None,
) -> tuple[McbncPath, ...]:
    """One path per pooling, each as `mcbnc_path` makes it, from one order, I-maps and union.

    With an `rng` the paths break ties in the same order. Of the time that is left each path may
    have an equal share, and the later ones what the earlier ones did not need. Parameters and
    exceptions are those of `mcbnc_path`; `progress` counts the deletions of all paths.
    """
    for pooling in poolings:
        _check(k_max, quorum, seconds, pooling)
    if min_judges < 1:
        raise ConfigError(f"min_judges must be >= 1, got {min_judges}")
    bound = None if threshold is None else as_threshold(threshold)
    end = None if seconds is None else time.monotonic() + seconds
    inputs = merge_inputs(dags, weights, variables, sites)
    watched = _watch(stages, seconds, end)
    order, union_pa = fuse_in_stages(inputs, rng, watched, quorum, knowledge)
    edges = int(np.bitwise_count(union_pa).sum())
    n = len(inputs.names)
    ties = np.arange(n) if rng is None else rng.permutation(n)
    start = _Start(inputs, order, union_pa, ties, quorum, knowledge, min_judges)
    paths = []
    for k, pooling in enumerate(poolings):
        left = len(poolings) - k
        now = time.monotonic()
        share = None if end is None else now + max(0.0, end - now) / left
        counted = _as_of_all(progress, k * edges, len(poolings) * edges)
        paths.append(_path(start, pooling, k_max, share, bound, counted))
    return tuple(paths)


def path_from(
    start: DAG,
    inputs: MergedInputs,
    *,
    threshold: Fraction | float | str,
    pooling: Pooling,
    k_max: int = 10,
    min_judges: int = 1,
    knowledge: Knowledge | None = None,
    end: float | None = None,
) -> McbncPath:
    """The deletions from a given DAG in place of G+, while Ψ <= θ; not the paper's.

    start : over the names of the inputs, with the knowledge; its order is taken for σ.
    threshold, pooling, k_max, min_judges, knowledge : as for `mcbnc_path`.
    end : of `time.monotonic()`; a path that is not complete then is cut short.
    """
    _check(k_max, 1, None, pooling)
    dag = start.reorder(inputs.names)
    order = np.array(dag.topological_order(), dtype=np.int64)
    ties = np.arange(dag.n)
    begin = _Start(inputs, order, dag.parent_bits, ties, 1, knowledge, min_judges)
    return _path(begin, pooling, k_max, end, as_threshold(threshold), None)


LARGEST_CUT = 2**15  # above every Ψ


class _Start(NamedTuple):
    """What all paths of the same inputs share: σ as indices [n], G+ as parents' bits, and the order
    of the variables in which ties are broken, as indices [n]."""

    inputs: MergedInputs
    order: Ints
    union_pa: Bits
    tie_order: Indices
    quorum: int
    knowledge: Knowledge | None
    min_judges: int


def _path(
    start: _Start,
    pooling: Pooling,
    k_max: int,
    end: float | None,
    bound: Fraction | None,
    progress: Progress | None,
) -> McbncPath:
    """The deletions from G+, until `end` of `time.monotonic()`, while Ψ <= `bound`."""
    from fedbn.consensus.deletions import delete_all, new_deletions

    inputs, order = start.inputs, start.tie_order
    union = DAG.from_parent_bits(inputs.names, start.union_pa)
    placed, union_pa = inputs, start.union_pa
    if np.any(order[1:] < order[:-1]):
        placed = inputs.reorder(order)
        union_pa = union.reorder(placed.names).parent_bits
    search = new_deletions(placed, union_pa, k_max, pooling, start.knowledge, start.min_judges)
    status = delete_all(search, len(inputs.names), end, _largest(bound, inputs), progress)
    lost = search.lost_arcs()
    lost[:, 2:] = order[lost[:, 2:]]
    lost.flags.writeable = False
    return McbncPath(
        names=inputs.names,
        order=tuple(inputs.names[i] for i in start.order),
        union=union,
        inputs=inputs,
        k_max=k_max,
        steps=_steps(search, placed),
        lost_arcs=lost,
        quorum=start.quorum,
        status=status,
        pooling=pooling,
        knowledge=start.knowledge,
        min_judges=start.min_judges,
    )


def _largest(bound: Fraction | None, inputs: MergedInputs) -> Fraction | None:
    """What the core takes for a bound on Ψ: where all weights are judges, in units of their sum."""
    if bound is None or bound >= LARGEST_CUT:
        return None
    if inputs.observed is None:
        return Fraction(int(bound * inputs.total), inputs.total)
    if bound.denominator >= 2**40:
        raise ConfigError(
            "where sites observe different variables, theta must be a share with a denominator "
            f"below 2^40, got {bound}"
        )
    return bound


def _as_of_all(progress: Progress | None, before: int, total: int) -> Progress | None:
    """`progress` of one path as that of all."""
    if progress is None:
        return None
    return lambda done, _: progress(before + done, total)


def _check(k_max: int, quorum: int, seconds: float | None, pooling: str) -> None:
    if k_max < 0:
        raise ConfigError(f"k_max must be >= 0, got {k_max}")
    if quorum < 1:
        raise ConfigError(f"quorum must be >= 1, got {quorum}")
    if seconds is not None and not seconds > 0:
        raise ConfigError(f"seconds must be > 0, got {seconds}")
    if pooling not in POOLINGS:
        raise ConfigError(f"pooling must be one of {', '.join(POOLINGS)}, got {pooling!r}")


def _watch(stages: Report | None, seconds: float | None, end: float | None) -> Report:
    """A report that also looks at the clock."""

    def report(stage: str, done: int, total: int) -> None:
        if stages is not None:
            stages(stage, done, total)
        if end is not None and time.monotonic() > end:
            raise SearchError(
                f"the time budget of {seconds} s was over in the stage {stage!r}, {done} of "
                f"{total}, before there was a fusion from which to delete: a consensus needs more"
            )

    return report


def _steps(search: Deletions, inputs: MergedInputs) -> tuple[Step, ...]:
    """The deletions with names and exact fractions."""
    names, largest = inputs.names, (0, 1)
    exact: dict[tuple[int, int], Fraction] = {}
    ascend = names == tuple(sorted(names))

    def set_of(nodes: Sequence[int]) -> tuple[str, ...]:
        found = map(names.__getitem__, nodes)
        return tuple(found if ascend else sorted(found))

    steps = []
    made = search.steps()
    sets = [[]] * len(made) if inputs.observed is None else search.given()
    for (x, y, left_out, share), given in zip(made, sets, strict=True):
        if share[0] * largest[1] > largest[0] * share[1]:
            largest = share
        for each in (share, largest):
            if each not in exact:
                exact[each] = Fraction(*each)
        h = set_of(left_out) if left_out else ()
        s = set_of(given) if given else ()
        steps.append(Step(names[x], names[y], h, exact[share], exact[largest], s))
    return tuple(steps)
