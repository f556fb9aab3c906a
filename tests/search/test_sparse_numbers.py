"""The program that asks why ils is farther than boss: its score, and what it counts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from fedbn.graphs.dag import DAG
from fedbn.scores import TabulatedScore
from simulations.benchmarks.search_programs import Sample, sample_of
from simulations.benchmarks.sparse_numbers import figures, score_of


@pytest.fixture(scope="module")
def sample() -> Sample:
    return sample_of("random-gaussian:5:5:7", None, 200, 0, 3, "gaussian-bic")


def always(dag: DAG) -> Callable[[TabulatedScore], DAG]:
    return lambda _: dag


def test_all_rows_are_the_score_of_the_table_and_fewer_ask_more_of_an_edge(
    sample: Sample,
) -> None:
    whole, half = score_of(sample, 1.0), score_of(sample, 0.5)
    for child, parents in ((0, []), (1, [0]), (4, [1, 2])):
        found = whole.local_score(child, parents)
        assert found == pytest.approx(sample.score.local_score(child, parents), rel=1e-9)

    def gain(score: TabulatedScore) -> float:
        return score.local_score(1, [0]) - score.local_score(1, [])

    likelihood = gain(whole) + np.log(200) / 2
    assert gain(half) == pytest.approx(likelihood / 2 - np.log(100) / 2)


def test_the_truth_has_no_error_and_a_wrong_pair_is_counted_once(sample: Sample) -> None:
    truth = sample.truth
    assert figures(sample, 1.0, always(truth))[:4] == (0.0, 0, 0, 0)
    empty = DAG.from_edges(truth.names, [])
    assert figures(sample, 1.0, always(empty))[1:4] == (5, 0, 5)
    in_order = [(a, b) for i, a in enumerate(truth.names) for b in truth.names[i + 1 :]]
    assert figures(sample, 1.0, always(DAG.from_edges(truth.names, in_order)))[2:4] == (5, 0)
