"""A site's own names, translated."""

import numpy as np
import pytest

from fedbn.data.dataset import Dataset, Schema
from fedbn.data.mapping import SiteMapping
from fedbn.errors import SchemaError

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
