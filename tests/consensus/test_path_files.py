"""Saved paths, and explanations of edges."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from fedbn.consensus.explanation import client_distances, edge_histories
from fedbn.consensus.mcbnc import McbncPath, mcbnc_path
from fedbn.consensus.path_files import load_path, save_path
from fedbn.consensus.threshold import select_consensus
from fedbn.errors import ResultsError
from fedbn.graphs.dag import DAG
from fedbn.graphs.random import perturbed, random_dag


def example() -> tuple[list[DAG], McbncPath]:
    rng = np.random.default_rng(9)
    base = random_dag([f"v{i}" for i in range(10)], edges=13, rng=rng)
    dags = [perturbed(base, 4, rng=rng) for _ in range(5)]
    return [*dags, dags[0]], mcbnc_path([*dags, dags[0]], [1, 2, Fraction(1, 2), 1, 1, 3])


@pytest.mark.parametrize("name", ["path.json", "path.json.gz"])
def test_saved_path_is_the_same(tmp_path: Path, name: str) -> None:
    _, path = example()
    save_path(path, tmp_path / name)
    again = load_path(tmp_path / name)
    for field in ("names", "order", "union", "k_max", "steps", "status", "thetas", "complete"):
        assert getattr(again, field) == getattr(path, field), field
    assert (again.inputs.weights, again.inputs.unit) == (path.inputs.weights, path.inputs.unit)
    assert np.array_equal(again.lost_arcs, path.lost_arcs)
    ours, theirs = select_consensus(path), select_consensus(again)
    assert (ours.dag, ours.theta, ours.mean_smhd) == (theirs.dag, theirs.theta, theirs.mean_smhd)


def test_bad_files_are_refused(tmp_path: Path) -> None:
    for content in ("", "{}", '{"format": "other"}', "[1]"):
        (tmp_path / "bad.json").write_text(content)
        with pytest.raises(ResultsError, match=r"bad\.json"):
            load_path(tmp_path / "bad.json")
    with pytest.raises(ResultsError, match="readable"):
        load_path(tmp_path / "none.json")
    with pytest.raises(ResultsError, match="writable"):
        save_path(example()[1], tmp_path / "no" / "path.json")


def test_histories() -> None:
    dags, path = example()
    histories = edge_histories(path)
    assert len(histories) == path.union.n_edges == len({h.step for h in histories})
    for history in histories:
        pair = {history.a, history.b}
        clients = [k for k, dag in enumerate(dags) if any(set(edge) == pair for edge in dag.edges)]
        assert history.clients == tuple(clients)
        assert history.step is not None
        step = path.steps[history.step]
        assert ({step.x, step.y}, step.psi, step.theta) == (pair, history.psi, history.theta)
    assert client_distances(dags[0], dags)[0] == 0
