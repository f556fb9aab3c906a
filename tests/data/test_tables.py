"""Reading and writing tables: literal text, located errors, exact round trips."""

import gzip
import json
import warnings
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fedbn.data import csv_arrow
from fedbn.data.columns import column_names
from fedbn.data.dataset import MOST, Dataset
from fedbn.data.preparation import Preparation
from fedbn.data.schema import Schema
from fedbn.data.table_format import TableFormat
from fedbn.data.tables import (
    column_values,
    csv_text,
    read_dataset,
    read_schema,
    write_schema,
    write_table,
)
from fedbn.errors import DataError, FedbnWarning, ResultsError, SchemaError

# Anything that UTF-8 can carry; a byte-order mark would be taken for the file's own.
texts = st.text(
    st.characters(exclude_categories=("Cs",), exclude_characters="\ufeff"), min_size=1, max_size=6
)


@pytest.fixture
def csv_file(tmp_path):
    def write(content, name="table.csv"):
        path = tmp_path / name
        data = content.encode("utf-8") if isinstance(content, str) else content
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return path

    return write


def states_of(data):
    return {
        name: [states[code] for code in data.codes[:, column]]
        for column, (name, states) in enumerate(zip(data.names, data.schema.states, strict=True))
    }


def test_every_text_is_a_state(csv_file):
    rows = ["None", "NA", "True", "3", "<5", "nan", "null", "N/A", " yes", "yes", "3.0", "ä"]
    path = csv_file("x,y\n" + "".join(f"{row},a b\n{row},c\n" for row in rows))
    with pytest.warns(FedbnWarning) as warned:
        data = read_dataset(path, "categorical")
    said = [str(warning.message) for warning in warned]
    for token in ("None", "NA", "nan", "null", "N/A"):
        assert any(f"the state {token!r} in 2 rows" in words for words in said)
    assert len([words for words in said if "look like one" in words]) == 2  # 3 and yes
    assert len(said) == 7
    assert states_of(data)["x"] == [row for row in rows for _ in range(2)]
    assert data.schema.states[0] == tuple(sorted(rows))


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "T.CSV"])
def test_quotes_and_line_ends(csv_file, name):
    text = '\ufeffb,a\r\n"x, ""y""","1\n2"\r\nz,3\r\n\r\n'
    data = read_dataset(csv_file(text, name), "categorical")
    assert states_of(data) == {"a": ["1\n2", "3"], "b": ['x, "y"', "z"]}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b\nx,y\nx,\n", ["'b'", "row 2", "empty"]),
        ('a,b\nx,y\n"",y\n', ["'a'", "row 2", "empty"]),
        ("a\nx\n\ny\n", ["'a'", "row 2", "empty"]),
        ("a,b\nx,?\nx,y\n", ["'b'", "row 1", "'?'", "missing"]),
        ("a,b,a\nx,y,z\n", ["'a'", "columns 1 and 3"]),
        (",b\nx,y\n", ["column 1", "no name"]),
        ("a,b\nx,y\nx\n", ["row 2", "1 cell,", "2 columns"]),
        ("a,b\nx,y\nx,y,z\n", ["row 2", "3 cells"]),
        ("a,b\nx,y\n\nx,y\n", ["row 2", "blank"]),
        ("a,b\n", ["no row"]),
        ("", ["empty"]),
        (b"a,b\nx,\xff\n", ["line 2", "UTF-8", "0xff"]),
        ('a,b\nx,"y\n', ["not CSV"]),
        ('a,b\nx,"y"z\n', ["line 2", "not CSV"]),
    ],
)
def test_bad_csv_is_refused_with_its_place(csv_file, text, words):
    path = csv_file(text)
    with pytest.raises(DataError) as error:
        read_dataset(path, "categorical", Preparation(missing=("?",)))
    assert all(word in str(error.value) for word in [str(path), *words])


@pytest.mark.parametrize(
    "cell", ["text", "nan", "NaN", "inf", "-inf", "1e999", "1_000", "1,5", "0x1", "1 2", "e", "١"]
)
def test_a_float_column_takes_finite_numbers_only(csv_file, cell):
    path = csv_file(f'x,y\n1,2\n3,"{cell}"\n')
    with pytest.raises(DataError) as error:
        read_dataset(path, "gaussian")
    assert all(word in str(error.value) for word in [str(path), "'y'", "row 2", repr(cell)])


def test_float_columns(csv_file):
    data = read_dataset(csv_file("b,a\n1,.5\n-2e3, 7.\n"), "gaussian")
    assert data.names == ("a", "b")
    assert data.values.tolist() == [[0.5, 1.0], [7.0, -2000.0]]


def test_unreadable_files(tmp_path, csv_file):
    good = gzip.compress(b"a,b\nx,y\n" * 99)
    bad = {
        "absent.csv": None,
        "folder.csv": ...,
        "plain.csv.gz": b"a,b\n",
        "cut.csv.gz": good[:-9],
        "spoilt.csv.gz": good[:12] + b"\xff\xff\xff" + good[15:],
        "text.parquet": b"a,b\nx,y\n",
        "cut.parquet": b"PAR1",
    }
    for name, content in bad.items():
        path = tmp_path / name
        if content is ...:
            path.mkdir()
        elif content is not None:
            path.write_bytes(content)
        with pytest.raises(DataError, match=name):
            read_dataset(path, "categorical")
    with pytest.raises(DataError, match=r"table\.ods.*\.csv, \.csv\.gz, \.parquet"):
        read_dataset(csv_file("a\nx\n", "table.ods"), "categorical")


def test_constant_column_is_kept_with_a_warning(csv_file):
    path = csv_file("a,b\nx,1\nx,2\n")
    with pytest.warns(FedbnWarning, match="'a' is constant"):
        data = read_dataset(path, "categorical")
    assert data.cardinalities.tolist() == [1, 2]
    with pytest.warns(FedbnWarning, match="'a' is constant"):
        data = read_dataset(path, "categorical", schema=Schema.categorical({"a": "xyz", "b": "12"}))
    assert data.cardinalities.tolist() == [3, 2]


def test_wrong_separator_is_pointed_out(csv_file):
    path = csv_file("a;b\n1;x,2\n3;4\n")
    with pytest.raises(DataError, match="'a;b'.*use --separator ';'"):
        read_dataset(path, "categorical")
    data = read_dataset(path, "categorical", Preparation(form=TableFormat(";")))
    assert states_of(data) == {"a": ["1", "3"], "b": ["x,2", "4"]}
    tabs = csv_file("a\tb\n1\t2\n3\t4\n")
    with pytest.raises(DataError, match="use --separator tab"):
        read_dataset(tabs, "categorical")
    assert read_dataset(tabs, "categorical", Preparation(form=TableFormat("tab"))).n == 2


def test_schema_decides_columns_and_states(csv_file):
    path = csv_file("b,a\n0,x\n1,y\n")
    schema = Schema.categorical({"a": ["z", "y", "x"], "b": ["1", "0"]})
    data = read_dataset(path, "categorical", schema=schema)
    assert data.schema == schema
    assert states_of(data) == {"a": ["x", "y"], "b": ["0", "1"]}
    for states, words in [
        ({"a": ["x", "z"], "b": ["0", "1"]}, ["'a'", "'y'"]),
        ({"a": ["x", "y"]}, ["'b'", "not in the schema"]),
        ({"a": ["x", "y"], "b": ["0", "1"], "c": ["0"]}, ["'c'", "missing"]),
    ]:
        with pytest.raises(SchemaError) as error:
            read_dataset(path, "categorical", schema=Schema.categorical(states))
        assert all(word in str(error.value) for word in [str(path), *words])
    with pytest.raises(SchemaError, match="categorical.*gaussian"):
        read_dataset(path, "gaussian", schema=schema)


def test_excluded_columns(csv_file):
    path = csv_file("site,x\nnorth,1.5\n,2\n")
    assert read_dataset(path, "gaussian", Preparation(leave_out=("site",))).names == ("x",)
    with pytest.raises(DataError, match="no column 'city'"):
        read_dataset(path, "gaussian", Preparation(leave_out=("city",)))
    with pytest.raises(DataError, match="at least one column"):
        read_dataset(path, "gaussian", Preparation(leave_out=("site", "x")))
    assert column_names(path) == ("site", "x")
    assert column_values(path, "x") == ("1.5", "2")
    with pytest.raises(DataError, match="'site', row 2"):
        column_values(path, "site")


def write_parquet(path, **columns):
    pyarrow.parquet.write_table(pa.table(columns), path)
    return path


def test_parquet_rule_for_states(tmp_path):
    path = write_parquet(
        tmp_path / "t.parquet",
        text=pa.array(["NA", "b", "NA"]),
        integer=pa.array([3, -1, 3], pa.int8()),
        flag=pa.array([True, False, True]),
        coded=pa.array(["u", "v", "u"]).dictionary_encode(),
        coded_numbers=pa.array([7, 8, 7]).dictionary_encode(),
    )
    with pytest.warns(FedbnWarning, match="'text' has the state 'NA' in 2 rows"):
        data = read_dataset(path, "categorical")
    assert states_of(data) == {
        "text": ["NA", "b", "NA"],
        "integer": ["3", "-1", "3"],
        "flag": ["True", "False", "True"],
        "coded": ["u", "v", "u"],
        "coded_numbers": ["7", "8", "7"],
    }


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1.0, 2.0]),
        pa.array([1, 2], pa.timestamp("s")),
        pa.array([[1], [2]]),
        pa.array([b"a", b"b"]),
        pa.array([1, 2], pa.decimal128(5, 2)),
    ],
    ids=lambda column: str(column.type),
)
def test_parquet_types_without_an_obvious_text_are_refused(tmp_path, column):
    path = write_parquet(tmp_path / "t.parquet", x=column, y=pa.array(["a", "b"]))
    with pytest.raises(DataError, match=r"t\.parquet: column 'x' must hold text.*its type is"):
        read_dataset(path, "categorical")
    assert read_dataset(path, "categorical", Preparation(leave_out=("x",))).names == ("y",)


def test_parquet_missing_and_float_columns(tmp_path):
    path = write_parquet(tmp_path / "t.parquet", x=pa.array(["a", None]), y=pa.array([None, None]))
    with pytest.raises(DataError, match="'x', row 2: the cell is empty"):
        read_dataset(path, "categorical")
    with pytest.raises(DataError, match="'y', row 1: the cell is empty"):
        read_dataset(path, "categorical", Preparation(leave_out=("x",)))
    numbers = write_parquet(
        tmp_path / "n.parquet", x=pa.array([0.1, 2.0]), i=pa.array([1, 2]), t=pa.array(["3", "4.5"])
    )
    assert read_dataset(numbers, "gaussian").values.tolist() == [[1.0, 3.0, 0.1], [2.0, 4.5, 2.0]]
    for bad in (float("nan"), float("inf")):
        path = write_parquet(tmp_path / "b.parquet", x=pa.array([0.5, bad]))
        with pytest.raises(DataError, match="'x', row 2.*finite"):
            read_dataset(path, "gaussian")
    path = write_parquet(tmp_path / "flag.parquet", x=pa.array([True, False]))
    with pytest.raises(DataError, match="'x', row 1: 'True' must be a finite number"):
        read_dataset(path, "gaussian")


def test_parquet_in_several_row_groups(tmp_path):
    path = tmp_path / "t.parquet"
    cells = [str(i % 7) for i in range(100)]
    column = pa.array(cells).dictionary_encode()
    pyarrow.parquet.write_table(pa.table({"x": column}), path, row_group_size=9)
    assert states_of(read_dataset(path, "categorical"))["x"] == cells


@st.composite
def datasets(draw):
    if draw(st.booleans()):
        names = draw(st.sets(texts, min_size=1, max_size=4))
        row = st.lists(
            st.floats(-MOST, MOST),
            min_size=len(names),
            max_size=len(names),
        )
        return Dataset(
            Schema.gaussian(names), np.array(draw(st.lists(row, min_size=1, max_size=5)))
        )
    columns = draw(
        st.dictionaries(texts, st.sets(texts, min_size=1, max_size=4), min_size=1, max_size=4)
    )
    schema = Schema.categorical(columns)
    row = st.tuples(*(st.integers(0, int(size) - 1) for size in schema.cardinalities))
    return Dataset(schema, np.array(draw(st.lists(row, min_size=1, max_size=5))))


def test_tests_of_files_are_of_the_reader_that_they_name(
    tmp_path: Path, csv_reader: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,x\n2,y\n")
    monkeypatch.setattr(csv_arrow, "arrow_columns", Mock(return_value=None))
    assert read_dataset(path, "categorical").n_rows == 2
    assert csv_arrow.arrow_columns.called == (csv_reader == "pyarrow")


@given(datasets(), st.sampled_from(["t.csv", "t.csv.gz", "t.parquet"]))
def test_tables_read_back_as_written(tmp_path_factory, data, name):
    assume(data.n > 1 or not set(data.names[0]) & set(";|\t"))
    path = tmp_path_factory.mktemp("tables") / name
    write_table(data, path)
    first = path.read_bytes()
    write_table(data, path)
    assert path.read_bytes() == first
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FedbnWarning)
        assert read_dataset(path, data.kind, schema=data.schema) == data
        bare = read_dataset(path, data.kind)
    assert bare.with_schema(data.schema) == data


@given(st.permutations(["a", "b", "c"]), st.permutations([0, 1, 2, 3]))
def test_order_of_columns_and_rows_reaches_no_schema(tmp_path_factory, columns, rows):
    cells = {"a": ["x", "y", "x", "z"], "b": ["0", "10", "9", "0"], "c": ["u", "u", "v", "v"]}
    path = tmp_path_factory.mktemp("tables") / "t.csv"
    lines = [",".join(columns)] + [",".join(cells[c][r] for c in columns) for r in rows]
    path.write_text("\n".join(lines) + "\n")
    data = read_dataset(path, "categorical")
    assert data.schema.to_dict() == {"a": ["x", "y", "z"], "b": ["0", "10", "9"], "c": ["u", "v"]}
    assert states_of(data) == {c: [cells[c][r] for r in rows] for c in "abc"}


def test_long_files_are_read_in_chunks(tmp_path):
    rows = 70_000
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "".join(f"{i % 3},{i % 1001}\n" for i in range(rows)))
    data = read_dataset(path, "categorical")
    assert data.n_rows == rows
    assert states_of(data)["b"] == [str(i % 1001) for i in range(rows)]


@given(st.dictionaries(texts, st.lists(texts, min_size=1, max_size=4, unique=True), min_size=1))
def test_schema_files_read_back(tmp_path_factory, columns):
    path = tmp_path_factory.mktemp("schemas") / "states.json"
    schema = Schema.categorical(columns)
    write_schema(schema, path)
    assert read_schema(path) == schema


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"a": ["x"], "a": ["y"]}', ["'a' occurs twice"]),
        ('{"a": ["x", 3]}', ["'a'", "3"]),
        ('{"a": "x"}', ["'a'", "list"]),
        ("[1]", ["object"]),
        ("{", ["Expecting"]),
    ],
)
def test_bad_schema_files(tmp_path, text, words):
    path = tmp_path / "states.json"
    path.write_text(text)
    with pytest.raises(SchemaError) as error:
        read_schema(path)
    assert all(word in str(error.value) for word in [str(path), *words])


def test_gaussian_schema_file(tmp_path):
    path = tmp_path / "states.json"
    path.write_text(json.dumps({"b": None, "a": None}))
    assert read_schema(path) == Schema.gaussian(["a", "b"])
    with pytest.raises(SchemaError, match=r"absent\.json"):
        read_schema(tmp_path / "absent.json")


def test_csv_text_quotes_only_where_it_must():
    data = Dataset(Schema.categorical({"a": ['1,5"', "x"], "b": ["y"]}), np.array([[0, 0], [1, 0]]))
    assert csv_text(data) == 'a,b\n"1,5""",y\nx,y\n'


def test_a_table_that_cannot_be_written(tmp_path):
    data = Dataset(Schema.gaussian(["a"]), np.zeros((1, 1)))
    with pytest.raises(ResultsError, match="cannot write"):
        write_table(data, tmp_path / "no" / "t.csv")
    with pytest.raises(DataError, match="must end in"):
        write_table(data, tmp_path / "t.txt")
