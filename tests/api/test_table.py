"""Tables from frames and columns: nothing is guessed, dropped or turned into something else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fedbn as fb
from fedbn.data.tables import read_dataset
from fedbn.errors import ConfigError, DataError, FedbnWarning, SchemaError


def test_a_frame_is_the_table_of_its_file(tmp_path: Path) -> None:
    frame = pd.DataFrame({"b": ["no", "yes", "no"], "a": [3, 1, 2], "c": [True, False, True]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    table = fb.Table.from_pandas(frame)
    assert table.names == ("a", "b", "c")
    assert table.schema.states == (("1", "2", "3"), ("no", "yes"), ("False", "True"))
    assert table == fb.read_table(tmp_path / "t.csv")
    assert fb.Table.from_pandas(table.to_pandas()) == table
    assert repr(table) == "Table(3 rows, 3 categorical columns)"
    assert len(table) == 3


@pytest.mark.parametrize("dtype", ["category", "string", object])
def test_texts_of_every_type_of_pandas_are_states(dtype: str) -> None:
    frame = pd.DataFrame({"a": pd.Series(["x", "y", "x"], dtype=dtype)})
    assert fb.Table.from_pandas(frame) == fb.Table.from_columns({"a": ["x", "y", "x"]})


def test_floats_are_floats(tmp_path: Path) -> None:
    frame = pd.DataFrame({"b": [0.1, 2.5, 1e-9], "a": [1, 2, 4]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    table = fb.Table.from_pandas(frame, "gaussian")
    np.testing.assert_array_equal(table.dataset.values, frame[["a", "b"]].to_numpy())
    assert table == fb.read_table(tmp_path / "t.csv", "gaussian")
    assert fb.Table.from_pandas(table.to_pandas(), "gaussian") == table


def test_cut_points_make_states_of_numbers(tmp_path: Path) -> None:
    frame = pd.DataFrame({"age": [12.5, 40.0, 70.0], "sex": ["f", "m", "f"]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    how = fb.Preparation(cuts={"age": (30.0, 60.0)})
    table = fb.Table.from_pandas(frame, how=how)
    assert table.dataset.codes[:, 0].tolist() == [0, 1, 2]
    assert table == fb.read_table(tmp_path / "t.csv", how=how)


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA, pd.NaT])
@pytest.mark.parametrize("kind", ["categorical", "gaussian"])
def test_a_missing_cell_is_refused_or_what_the_caller_says(missing: object, kind: str) -> None:
    good, other = ("1", "2") if kind == "categorical" else (1.5, 2.5)
    frame = pd.DataFrame({"a": pd.Series([good, missing, other], dtype=object)})
    with pytest.raises(DataError, match="column 'a', row 2"):
        fb.Table.from_pandas(frame, kind)
    with pytest.warns(FedbnWarning, match="because a cell is missing, 1 of 3 rows is left out"):
        kept = fb.Table.from_pandas(frame, kind, fb.Preparation(missing_cells="drop-rows"))
    assert len(kept) == 2


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({}, "at least one column"),
        ({"a": []}, "at least one"),
        ({"a": [1], "b": [1, 2]}, "'a' has 1, 'b' has 2"),
        ({1: ["x"]}, "must be text, not 1"),
        ({"a": [0.5, 1.5]}, "column 'a' holds floats like 0.5"),
        ({"a": [[1], [2]]}, r"text or numbers, not list \[1\]"),
        ({"a": [{"x": 1}]}, "not dict"),
    ],
)
def test_what_is_no_table_is_said(columns: dict[str, list[object]], words: str) -> None:
    with pytest.raises(DataError, match=words):
        fb.Table.from_columns(columns)


def test_a_kind_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n0,1\n1,0\n")
    words = "must be one of categorical, gaussian, mixed, not 'discrete'"
    for read in (fb.read_table, read_dataset):
        with pytest.raises(ConfigError, match=words):
            read(tmp_path / "t.csv", "discrete")  # type: ignore[operator]
    with pytest.raises(ConfigError, match=words):
        fb.Table.from_columns({"a": ["x"]}, "discrete")


def test_a_schema_is_kept() -> None:
    schema = fb.Schema.categorical({"a": ["x", "y", "z"]})
    assert fb.Table.from_columns({"a": ["x", "y"]}, schema=schema).schema == schema
    with pytest.raises(SchemaError, match="'w'"):
        fb.Table.from_columns({"a": ["w", "x"]}, schema=schema)


def test_no_table_is_said_shortly() -> None:
    with pytest.raises(DataError, match="must be a fedbn.Table, not str 'asia.csv'"):
        fb.learn("asia.csv")  # type: ignore[arg-type]
    with pytest.raises(DataError) as told:
        fb.learn(pd.DataFrame({"a": range(1000)}))  # type: ignore[arg-type]
    assert "not a DataFrame" in str(told.value)
    with pytest.raises(DataError, match="needs a data frame, not dict"):
        fb.Table.from_pandas({"a": 1})  # type: ignore[arg-type]
