"""A column that differs between sites only: it is noticed, and counted over sites on request."""

from __future__ import annotations

import numpy as np
import pytest

from fedbn.api.simulation import simulate
from fedbn.data.schema import Schema
from fedbn.data.table import Table
from fedbn.errors import ConfigError
from fedbn.federation.agreement import dividing_columns
from fedbn.federation.run_remarks import run_remarks
from fedbn.federation.settings import ConsensusSettings
from fedbn.graphs.dag import DAG
from fedbn.graphs.distances import smhd

pytestmark = pytest.mark.filterwarnings("ignore:.*is constant.*:fedbn.errors.FedbnWarning")

TRUTH = DAG.from_edges(
    ["country", "diet", "weight", "lamp"], [("country", "diet"), ("diet", "weight")]
)


def sites(count: int = 9, rows: int = 500) -> dict[str, Table]:
    """Three countries, three sites each; what people eat depends on the country."""
    rng = np.random.default_rng(4)
    tables = {}
    for site in range(count):
        country = site % 3
        diet = rng.random(rows) < (0.15, 0.5, 0.85)[country]
        weight = rng.random(rows) < np.where(diet, 0.8, 0.2)
        columns = {
            "country": ["abc"[country]] * rows,
            "diet": diet.astype(int).astype(str).tolist(),
            "weight": weight.astype(int).astype(str).tolist(),
            "lamp": rng.integers(0, 2, rows).astype(str).tolist(),
        }
        tables[f"s{site}"] = Table.from_columns(columns)
    return tables


def test_structures_alone_have_no_edge_of_it_and_say_so() -> None:
    found = simulate(sites())
    assert found.result.divided == ("country",)
    assert smhd(found.dag, TRUTH) == 1
    (said,) = run_remarks(found.result)
    assert "a single state of 'country'" in said


@pytest.mark.parametrize("choose", ["counts", "climb"])
def test_counts_over_sites_find_its_edges(choose: str) -> None:
    rule = ConsensusSettings(choose=choose, site_column="country")
    found = simulate(sites(), consensus=rule)
    assert smhd(found.dag, TRUTH) == 0
    assert run_remarks(found.result) == ()


def test_without_it_counts_have_no_such_edge() -> None:
    found = simulate(sites(), consensus=ConsensusSettings(choose="counts"))
    assert smhd(found.dag, TRUTH) == 1


def test_a_site_column_must_be_one() -> None:
    for column in ("diet", "nobody"):
        with pytest.raises(ConfigError, match=f"{column!r} is not among \\['country'\\]"):
            simulate(sites(), consensus=ConsensusSettings(choose="counts", site_column=column))
    with pytest.raises(ConfigError, match="needs choose = counts"):
        ConsensusSettings(site_column="country")
    with pytest.raises(ConfigError, match="aggregation = open"):
        ConsensusSettings(site_column="a", choose="counts", aggregation="secure-sums")


def test_what_divides_the_sites() -> None:
    schema = Schema.categorical
    same = {"n": schema({"a": "0", "b": "01"}), "s": schema({"a": "0", "b": "0"})}
    assert dividing_columns(same) == ()
    assert dividing_columns({**same, "w": schema({"a": "1", "b": "01"})}) == ("a",)
    assert dividing_columns({"n": Schema.gaussian("ab")}) == ()
