"""A path as JSON values, and read back from them, for checkpoints.

They hold the inputs, the order, G+, every deletion with exact fractions, and the arcs that
every input lost, so nothing is computed again on reading but the two readings of the consensus.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, get_args

import numpy as np

from fedbn.arrays import Bools, Ints, Ints32
from fedbn.consensus.path import POOLINGS, McbncPath, Status, Step
from fedbn.fusion.inputs import LARGEST_SUM, MergedInputs
from fedbn.graphs.dag import DAG
from fedbn.graphs.knowledge import Knowledge

FORMAT = "fedbn-path-1"

_FRACTION = re.compile(r"[0-9]{1,100}(/[1-9][0-9]{0,99})?")


def path_to_dict(path: McbncPath) -> dict[str, Any]:
    """The path as JSON values, all of it and exact."""
    inputs = path.inputs
    observed = {}
    if inputs.observed is not None:
        observed = {
            "observed": [np.flatnonzero(row).tolist() for row in inputs.observed],
            "site_counts": [] if inputs.site_counts is None else inputs.site_counts.tolist(),
            "given": [list(step.given) for step in path.steps],
            "min_judges": path.min_judges,
        }
    return {
        "format": FORMAT,
        "names": list(path.names),
        "order": list(path.order),
        "union": path.union.arcs.tolist(),
        "inputs": [dag.arcs.tolist() for dag in inputs.dags],
        "weights": list(inputs.weights),
        "unit": str(inputs.unit),
        "members": [list(members) for members in inputs.members],
        "k_max": path.k_max,
        "steps": [[s.x, s.y, list(s.h), str(s.psi), str(s.theta)] for s in path.steps],
        "lost_arcs": path.lost_arcs.tolist(),
        "status": path.status,
        "pooling": path.pooling,
        "quorum": path.quorum,
        "rivals": [list(rival) for rival in path.rivals],
        **observed,
    }


def path_from_dict(data: Mapping[str, Any], knowledge: Knowledge | None = None) -> McbncPath:
    """The inverse of `path_to_dict`.

    knowledge : what the path keeps, which is no part of the values.

    Compiled code replays the deletions without a look at them, so everything that it uses as a
    place is checked here.

    Raises
    ------
    ValueError, KeyError, TypeError, IndexError, OverflowError : the content is no path.
    """
    if data["format"] != FORMAT:
        raise ValueError(f"the format must be {FORMAT!r}, got {data['format']!r}")
    names = tuple(data["names"])
    if not all(isinstance(name, str) for name in names) or list(names) != sorted(set(names)):
        raise ValueError("names must be different texts, sorted")
    union = DAG.from_arcs(names, data["union"])
    inputs = _inputs(data, names)
    path = McbncPath(
        names=names,
        order=tuple(data["order"]),
        union=union,
        inputs=inputs,
        k_max=_whole(data["k_max"]),
        steps=_steps(data, inputs),
        lost_arcs=_lost_arcs(data["lost_arcs"], inputs, len(data["steps"])),
        status=_word(data["status"], get_args(Status)),
        pooling=_word(data["pooling"], POOLINGS),
        rivals=tuple(
            (_word(pooling, POOLINGS), _word(status, get_args(Status)))
            for pooling, status in data.get("rivals", ())
        ),
        quorum=_whole(data.get("quorum", 1)),
        min_judges=_whole(data.get("min_judges", 1)),
        knowledge=knowledge,
    )
    _require_order(path)
    _require_deletions(path)
    return path


def _inputs(data: Mapping[str, Any], names: tuple[str, ...]) -> MergedInputs:
    dags = tuple(DAG.from_arcs(names, arcs) for arcs in data["inputs"])
    weights = tuple(_whole(weight) for weight in data["weights"])
    members = tuple(tuple(_whole(member) for member in group) for group in data["members"])
    if not dags or not len(dags) == len(weights) == len(members) or not all(map(len, members)):
        raise ValueError("every input must have a weight and members")
    given = sorted(member for group in members for member in group)
    if (
        min(weights) < 1
        or sum(weights) * len(names) ** 2 >= LARGEST_SUM
        or given != list(range(len(given)))
    ):
        raise ValueError("weights must be positive, members the places of the inputs")
    unit = _fraction(data["unit"])
    if "observed" not in data:
        return MergedInputs(names, dags, weights, unit, members)
    observed = _variables_of(data["observed"], dags)
    counts = _site_counts(data["site_counts"], observed)
    return MergedInputs(names, dags, weights, unit, members, observed, counts)


def _site_counts(numbers: Any, observed: Bools) -> Ints:
    """How many sites the inputs about one set of variables come from: told at the first."""
    counts = np.array([_whole(number) for number in numbers], dtype=np.int64)
    first = [not any(np.array_equal(row, own) for row in observed[:k])
             for k, own in enumerate(observed)]  # fmt: skip
    if counts.shape != (len(observed),) or not np.array_equal(counts > 0, first):
        raise ValueError("of the inputs about one set of variables, the first must have its sites")
    counts.flags.writeable = False
    return counts


def _variables_of(rows: Any, dags: Sequence[DAG]) -> Bools:
    """Which variables every input is about: those at its arcs at least."""
    observed = np.zeros((len(dags), dags[0].n), dtype=np.bool_)
    for row, nodes in zip(observed, rows, strict=True):
        row[[_whole(node) for node in nodes]] = True
    if not all(row[dag.arcs].all() for row, dag in zip(observed, dags, strict=True)):
        raise ValueError("an input can only join variables that it observes")
    observed.flags.writeable = False
    return observed


def _lost_arcs(rows: Any, inputs: MergedInputs, steps: int) -> Ints32:
    """The arcs that inputs lost: ascending by step, each there and once."""
    found = np.asarray(rows)
    if found.size and (found.dtype.kind != "i" or found.ndim != 2 or found.shape[1] != 4):
        raise TypeError("lost arcs must be four integers each")
    lost = found.astype(np.int64).reshape(-1, 4)
    n = len(inputs.names)
    sizes = np.array([steps, len(inputs.dags), n, n], dtype=np.int64)
    if ((lost < 0) | (lost >= sizes)).any() or (np.diff(lost[:, 0]) < 0).any():
        raise ValueError("a lost arc must be one of an input, in the order of the steps")
    gone = list(map(tuple, lost[:, 1:].tolist()))
    there = {(i, a, b) for i, dag in enumerate(inputs.dags) for a, b in dag.arcs.tolist()}
    if len(set(gone)) < len(gone) or not there.issuperset(gone):
        raise ValueError("an input can lose the arcs that it has, each once")
    kept = lost.astype(np.int32)
    kept.flags.writeable = False
    return kept


def _steps(data: Mapping[str, Any], inputs: MergedInputs) -> tuple[Step, ...]:
    """The deletions; the sets S are kept where it depends on them who judges."""
    given = [()] * len(data["steps"]) if inputs.observed is None else data["given"]
    known = set(inputs.names)
    if not all(known >= set(s) for s in given):
        raise ValueError("a deletion must be given variables")
    return tuple(
        Step(x, y, tuple(h), _fraction(psi), _fraction(theta), tuple(s))
        for (x, y, h, psi, theta), s in zip(data["steps"], given, strict=True)
    )


def _require_order(path: McbncPath) -> None:
    """The order is one of the fusion: parents before children in G+."""
    place = {name: position for position, name in enumerate(path.order)}
    if len(place) != len(path.order) or set(place) != set(path.names):
        raise ValueError("the order must hold every name once")
    if any(place[parent] > place[child] for parent, child in path.union.edges):
        raise ValueError("in the order, parents must come before children")


def _require_deletions(path: McbncPath) -> None:
    """Each step deletes another edge of G+, and θ is the running maximum of Ψ."""
    joined = {frozenset(edge) for edge in path.union.edges}
    largest = Fraction(0)
    for number, step in enumerate(path.steps, start=1):
        pair = frozenset((step.x, step.y))
        largest = max(largest, step.psi)
        if pair not in joined or step.theta != largest:
            raise ValueError(f"step {number} must delete an edge that is left, at the largest Ψ")
        sides = {frozenset((end, z)) for end in pair for z in step.h}
        if not sides <= joined or len(step.h) > path.k_max:
            raise ValueError(f"step {number}: H must be joined to both ends")
        joined.remove(pair)
    known = Knowledge() if path.knowledge is None else path.knowledge
    if known.breaches(path.union):
        raise ValueError("the union must keep the knowledge")
    required = {frozenset(edge) for edge in known.required}
    if not required <= joined or (path.status == "complete" and joined != required):
        raise ValueError("a complete path deletes every edge that is not required, and no other")


def _whole(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise TypeError(f"expected a whole number, found {value!r:.40}")
    return value


def _fraction(text: Any) -> Fraction:
    if not isinstance(text, str) or not _FRACTION.fullmatch(text):
        raise ValueError(f"expected a fraction like 2/3, found {text!r:.40}")
    return Fraction(text)


def _word(value: Any, known: tuple[Any, ...]) -> Any:
    if value not in known:
        raise ValueError(f"expected one of {', '.join(known)}, found {value!r:.40}")
    return value
