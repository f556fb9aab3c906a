"""Cut points found by three rounds of summed histograms are the pooled quantiles."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbn.data.quantiles import Histogram, Selection, histogram, parse_intervals
from fedbn.errors import ConfigError, DataError


def selected(wanted, sites) -> Selection:
    """All rounds over the sites' columns."""
    state = Selection(wanted)
    while state.round <= 3:
        question = state.question()
        answers = [histogram(question, site) for site in sites]
        total = answers[0]
        for answer in answers[1:]:
            total = total + answer
        state = state.after(total)
    return state


def inverted_cdf(values, k):
    """The quantiles j / k: the least number that enough numbers do not exceed; distinct ones."""
    ordered = np.sort(values)
    found = [ordered[-(-len(ordered) * j // k) - 1] for j in range(1, k)]
    return sorted({float(cut) + 0.0 for cut in found if cut < ordered[-1]})


few_digits = st.one_of(
    st.integers(-9_999_999, 9_999_999).map(float),
    st.decimals(-999, 999, places=4, allow_nan=False).map(float),
    st.sampled_from([0.0, -0.0, 1e308, -1e308, 1e-300]),
)


@settings(max_examples=150)
@given(st.lists(st.lists(few_digits, max_size=30), min_size=1, max_size=4), st.integers(2, 7))
def test_numbers_of_few_digits_are_cut_at_their_quantiles(sites, k):
    pooled = np.array([value for site in sites for value in site])
    if len(pooled) == 0:
        with pytest.raises(DataError, match="no numbers"):
            selected({"x": k}, [{"x": np.array(site)} for site in sites])
        return
    found = selected({"x": k}, [{"x": np.array(site)} for site in sites]).cuts()["x"]
    assert list(found) == inverted_cdf(pooled, k)


@pytest.mark.parametrize("k", [2, 3, 4, 5, 8, 10])
def test_they_are_numpys_inverted_cdf(k):
    rng = np.random.default_rng(k)
    ages = rng.integers(17, 91, 5001).astype(float)
    weights = np.round(rng.lognormal(4, 0.3, 5001), 2)
    sites = [{"age": ages[i::3], "weight": weights[i::3]} for i in range(3)]
    found = selected({"age": k, "weight": k}, sites).cuts()
    for name, values in (("age", ages), ("weight", weights)):
        levels = np.arange(1, k) / k
        assert (
            list(found[name])
            == np.unique(np.quantile(values, levels, method="inverted_cdf")).tolist()
        )


def test_numbers_of_many_digits_are_cut_within_the_stated_rounding():
    rng = np.random.default_rng(1)
    values = rng.normal(size=4000) * 10.0 ** rng.integers(-5, 6, 4000)
    found = selected({"x": 4}, [{"x": values[:100]}, {"x": values[100:]}]).cuts()["x"]
    exact = np.quantile(values, [0.25, 0.5, 0.75], method="inverted_cdf")
    assert np.all(np.abs(np.array(found) - exact) <= 2.0**-24 * np.abs(exact))


def test_the_split_and_order_of_sites_change_nothing():
    values = np.random.default_rng(2).normal(size=600)
    whole = selected({"x": 5}, [{"x": values}])
    parts = selected({"x": 5}, [{"x": part} for part in np.array_split(values[::-1], 7)])
    assert whole == parts


def test_one_number_in_many_rows_holds_several_ranks():
    state = selected({"x": 4, "c": 3}, [{"x": np.array([0.0] * 6 + [1, 2, 3]), "c": np.ones(9)}])
    assert state.cuts() == {"x": (0.0, 1.0), "c": ()}
    assert state.remarks() == [
        "column 'c': 3 intervals asked, 1 found (cuts: none), as many rows have the same number",
        "column 'x': 4 intervals asked, 3 found (cuts: 0, 1), as many rows have the same number",
    ]


def test_what_does_not_fit_is_refused():
    with pytest.raises(DataError, match="same columns: 'b'"):
        Histogram({"a": {}}) + Histogram({"a": {}, "b": {}})
    with pytest.raises(DataError, match="no numbers of column 'x'"):
        histogram(Selection({"x": 2}).question(), {})
    after = Selection({"x": 2}).after(Histogram({"x": {5: 3}}))
    with pytest.raises(DataError, match="do not hold the numbers"):
        after.after(Histogram({"x": {}}))
    for text in ("1", "x", "age:", ":3", "age:1", "3,age:2", "age:2,age:3"):
        with pytest.raises(ConfigError, match="discretise"):
            parse_intervals([text])
