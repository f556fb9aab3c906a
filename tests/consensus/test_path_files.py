"""Paths as JSON values."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest

from fedbn.consensus.mcbnc import mcbnc_path
from fedbn.consensus.path import McbncPath
from fedbn.consensus.path_files import path_from_dict, path_to_dict
from fedbn.consensus.threshold import select_consensus
from fedbn.graphs.dag import DAG
from fedbn.graphs.random import perturb, random_dag


def example() -> tuple[list[DAG], McbncPath]:
    rng = np.random.default_rng(9)
    base = random_dag([f"v{i}" for i in range(10)], edges=13, rng=rng)
    dags = [perturb(base, 4, rng=rng) for _ in range(5)]
    return [*dags, dags[0]], mcbnc_path([*dags, dags[0]], [1, 2, Fraction(1, 2), 1, 1, 3])


def test_a_path_comes_back_from_its_text() -> None:
    _, path = example()
    again = path_from_dict(json.loads(json.dumps(path_to_dict(path))))
    for field in ("names", "order", "union", "k_max", "steps", "status", "thetas", "complete"):
        assert getattr(again, field) == getattr(path, field), field
    assert (again.inputs.weights, again.inputs.unit) == (path.inputs.weights, path.inputs.unit)
    assert np.array_equal(again.lost_arcs, path.lost_arcs)
    ours, theirs = select_consensus(path), select_consensus(again)
    assert (ours.dag, ours.theta, ours.mean_smhd) == (theirs.dag, theirs.theta, theirs.mean_smhd)


def test_anything_else_is_refused() -> None:
    content = path_to_dict(example()[1])
    for wrong in ({}, {"format": "other"}, content | {"union": [[0, 99]]}, content | {"steps": 3}):
        with pytest.raises((KeyError, ValueError, TypeError, IndexError)):
            path_from_dict(wrong)
