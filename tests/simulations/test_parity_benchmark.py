"""The program that compares two versions sees every difference, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from fedbn.graphs.dag import DAG
from fedbn.graphs.pdag import dag_to_cpdag
from fedbn.search.result import SearchResult
from simulations.benchmarks.parity import cases, compare, main, result_of, text_of


def test_texts_differ_in_the_last_bit_of_a_number_and_in_one_edge() -> None:
    assert text_of([0.1]) != text_of([np.nextafter(0.1, 1).item()])
    assert text_of(np.array([1, 2])) != text_of(np.array([[1, 2]]))
    assert text_of({"b": 1, "a": {2, 3}}) == text_of({"a": {3, 2}, "b": 1})
    chain, other = (DAG.from_edges("abc", [("a", "b"), edge]) for edge in (("b", "c"), ("a", "c")))
    assert text_of(chain) != text_of(other)
    one, two = (
        SearchResult(chain, dag_to_cpdag(chain), 1.0, frozenset(), {"steps": k}) for k in (1, 2)
    )
    assert text_of(one) != text_of(two)


def test_what_differs_or_is_missing_is_listed(tmp_path) -> None:
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    first.write_text("same,1\nchanged,1\ngone,1\n")
    second.write_text("same,1\nchanged,2\nnew,1\n")
    assert compare(str(first), str(second)) == ["changed", "gone", "new"]
    with pytest.raises(SystemExit, match="1"):
        main(["--compare", str(first), str(second)])


def test_names_are_unique_and_results_repeat(capsys: pytest.CaptureFixture[str]) -> None:
    names = [name for name, _ in cases(5, ("asia",), (50,))]
    assert len(set(names)) == len(names)
    outputs = []
    for _ in range(2):
        main(["--seeds", "4", "--networks", "asia", "--rows", "50", "--only", "asia"])
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1]
    assert len(outputs[0].splitlines()) == 27
    assert not [name for name, case in cases(0, ("asia",), (50,)) if "Error" in result_of(case)]
