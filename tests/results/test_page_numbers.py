"""Where numbers lie, drawn on the page: of the network and of each site; names do no harm."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fedbn.errors import ResultsError
from fedbn.networks.linear_gaussian import LinearEquation, LinearGaussianNetwork
from fedbn.results.page.numbers import numbers_content, numbers_section, spreads_in
from tests.naive_conditional import random_conditional

HOSTILE = "</script><img src=x onerror=alert(1)>"


def test_rows_are_those_of_network_and_sites() -> None:
    equations = {"x": LinearEquation({}, 2.0, 3.0), "y": LinearEquation({"x": 1.0}, 0.0, 4.0)}
    network = LinearGaussianNetwork.from_equations(equations)
    told = {"parameters": {"spreads": {"y": {"north": [1.0, 0.5], "east": [2.0, 1.5]}}}}
    x, y = numbers_content(network, spreads_in(told, "run.json"))
    assert (x["name"], [row[0] for row in y["rows"]]) == (
        "x",
        ["all, by the network", "east", "north"],
    )
    assert x["rows"] == [["all, by the network", *np.round([2 - 4.934559, 2, 2 + 4.934559], 4)]]
    assert y["rows"][1] == ["east", 0.5, 2.0, 3.5]
    assert y["rows"][0][3] == pytest.approx(2 + 1.6448536 * 5, abs=1e-3)


def test_without_a_network_the_sites_alone_are_drawn() -> None:
    (only,) = numbers_content(None, {"x": {"north": (1.0, 0.0)}})
    assert only["rows"] == [["north", 1.0, 1.0, 1.0]]
    assert numbers_content(None, {}) == []
    assert numbers_section([]) == ""


def test_a_mixture_has_its_quantiles() -> None:
    network = random_conditional(np.random.default_rng(1), "ccn")
    (found,) = numbers_content(network, {})
    _, low, middle, high = found["rows"][0]
    assert low < middle < high
    assert all(map(math.isfinite, (low, middle, high)))


def test_names_are_text() -> None:
    content = numbers_content(None, {HOSTILE: {HOSTILE: (1.0, 2.0)}})
    drawn = numbers_section(content)
    assert "<img" not in drawn
    assert "</script" not in drawn
    assert drawn.count("<svg") == 1


@pytest.mark.parametrize("told", [{"x": 3}, {"x": {"north": [1.0]}}, {"x": {"north": "ab"}}, [1]])
def test_another_form_is_named(told: object) -> None:
    with pytest.raises(ResultsError, match=r'run\.json: "spreads" must be'):
        spreads_in({"parameters": {"spreads": told}}, "run.json")
