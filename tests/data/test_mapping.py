"""A site's own names, translated."""

from pathlib import Path

import numpy as np
import pytest

from fedbn.data.dataset import Dataset
from fedbn.data.mapping import SiteMapping
from fedbn.data.preparation import Preparation
from fedbn.data.schema import Schema
from fedbn.data.tables import read_prepared
from fedbn.errors import FedbnWarning, SchemaError

SCHEMA = Schema.categorical({"Raucher": ["ja", "nein"], "Alter": ["alt", "jung", "uralt"]})
DATA = Dataset(SCHEMA, np.array([[0, 0], [1, 1], [2, 0]]))  # columns Alter, Raucher


def test_columns_and_states_are_renamed_and_every_row_keeps_its_meaning() -> None:
    mapping = SiteMapping(
        {"Raucher": "smoke", "Alter": "age"},
        {"smoke": {"ja": "yes", "nein": "no"}, "age": {"uralt": "old", "alt": "old"}},
    )
    mapped = mapping.apply(DATA)
    assert mapped.schema.to_dict() == {"age": ["jung", "old"], "smoke": ["no", "yes"]}
    words = [
        tuple(mapped.schema.states[i][code] for i, code in enumerate(row)) for row in mapped.codes
    ]
    assert words == [("old", "yes"), ("jung", "no"), ("old", "yes")]


def test_names_may_change_places() -> None:
    mapped = SiteMapping({"Raucher": "Alter", "Alter": "Raucher"}).apply(DATA)
    assert mapped.schema.to_dict() == {"Alter": ["ja", "nein"], "Raucher": ["alt", "jung", "uralt"]}
    assert mapped.codes.tolist() == [[0, 0], [1, 1], [0, 2]]


def test_float_columns_are_renamed() -> None:
    data = Dataset(Schema.gaussian("ab"), np.array([[1.0, 2.0]]))
    mapped = SiteMapping({"a": "z"}).apply(data)
    assert mapped.names == ("b", "z")
    assert mapped.values.tolist() == [[2.0, 1.0]]


@pytest.mark.parametrize(
    ("mapping", "words"),
    [
        (SiteMapping({"Rauher": "smoke"}), "'Rauher'"),
        (SiteMapping({"Raucher": "Alter"}), "both be mapped to 'Alter'"),
        (SiteMapping({}, {"smoke": {"ja": "yes"}}), "column 'smoke', which is not there"),
        (SiteMapping({}, {"Raucher": {"oui": "yes"}}), "no state 'oui'"),
    ],
)
def test_a_mapping_of_what_is_not_there_is_refused(mapping: SiteMapping, words: str) -> None:
    with pytest.raises(SchemaError, match=words):
        mapping.apply(DATA)


def test_a_state_of_dropped_rows_alone_may_be_mapped(tmp_path: Path) -> None:
    """Whoever never worked has no occupation: drop-rows leaves none of them."""
    table = tmp_path / "t.csv"
    table.write_text("a,b\nja,1\nnein,2\nnie,\n")
    how = Preparation(missing_cells="drop-rows")
    mapping = SiteMapping({}, {"a": {"ja": "yes", "nein": "no", "nie": "never"}})
    with pytest.warns(FedbnWarning, match="1 of 3 rows"):
        found = read_prepared(table, "categorical", how, mapping=mapping)
    assert found.dataset.schema.to_dict()["a"] == ["no", "yes"]
    wrong = SiteMapping({}, {"a": {"oui": "yes"}})
    with pytest.raises(SchemaError, match="no state 'oui'"), pytest.warns(FedbnWarning):
        read_prepared(table, "categorical", how, mapping=wrong)


@pytest.mark.parametrize("missing_cells", ["drop-rows", "impute", "state"])
@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize(
    ("token", "words"),
    [
        ("NA", r"\[states.smoke\] maps, of column 'Raucher', 'NA', a token"),
        ("", r"\[states.smoke\] maps, of column 'Raucher', the empty cell.*map 'missing'"),
    ],
)
def test_what_is_read_as_missing_is_not_mapped(
    tmp_path: Path, missing_cells: str, there: bool, token: str, words: str
) -> None:
    """The line would do nothing, whether there are such cells or not."""
    table = tmp_path / "t.csv"
    table.write_text("Raucher,b\n" + "ja,1\nnein,2\n" * 15 + f"{token if there else 'ja'},2\n")
    how = Preparation(missing=("NA",), missing_cells=missing_cells)
    mapping = SiteMapping({"Raucher": "smoke"}, {"smoke": {"ja": "yes", token: "unknown"}})
    with pytest.raises(SchemaError, match=rf"t\.csv: {words}"):
        read_prepared(table, "categorical", how, mapping=mapping)
    without = SiteMapping({"Raucher": "smoke"}, {"smoke": {"ja": "yes"}})
    assert read_prepared(table, "categorical", how, mapping=without).dataset.n == 2


def test_missing_cells_that_are_a_state_are_mapped_by_its_name(tmp_path: Path) -> None:
    """Even if its text is a token, too."""
    table = tmp_path / "t.csv"
    table.write_text("a,b\n" + "ja,1\nnein,2\n" * 5 + "missing,2\n,1\n")
    how = Preparation(missing=("missing",), missing_cells="state")
    mapping = SiteMapping({}, {"a": {"missing": "unknown"}})
    found = read_prepared(table, "categorical", how, mapping=mapping).dataset
    assert found.schema.to_dict()["a"] == ["ja", "nein", "unknown"]
    assert np.bincount(found.codes[:, 0]).tolist() == [5, 5, 2]
