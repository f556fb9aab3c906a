"""Cut points, missing cells, chosen columns, other dialects; what is refused names its cure."""

import warnings

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbn.data.cuts import cuts_text, interval_codes, interval_names, parse_cuts
from fedbn.data.dataset import Dataset
from fedbn.data.preparation import Preparation
from fedbn.data.schema import Schema, Variable, union_schema
from fedbn.data.spellings import require_one_spelling
from fedbn.data.table_format import TableFormat
from fedbn.data.tables import read_dataset, read_prepared, read_schema, write_schema
from fedbn.errors import ConfigError, DataError, FedbnWarning, SchemaError


@pytest.fixture
def csv_file(tmp_path):
    def write(content, encoding="utf-8"):
        path = tmp_path / "t.csv"
        path.write_bytes(content.encode(encoding))
        return path

    return write


def cells(data: Dataset, name: str) -> list[str]:
    column = data.schema.index(name)
    return [data.schema.states[column][code] for code in data.codes[:, column]]


def test_a_header_in_the_middle_is_told(csv_file):
    path = csv_file("a,b\nx,y\na,b\nx,z\n")
    with pytest.warns(FedbnWarning, match="row 2 has the names of the columns"):
        assert read_dataset(path, "categorical").n_rows == 3


def test_a_cell_that_is_no_number_names_two_cures(csv_file):
    path = csv_file("a,b\n1,y\nn.k.,y\n")
    with pytest.raises(
        DataError, match=r"row 2: 'n\.k\.' .* --missing 'n\.k\.', else --leave-out a"
    ):
        read_dataset(path, "categorical", Preparation(cuts={"a": (0,)}))


numbers = st.floats(allow_nan=False, allow_infinity=False, width=64)


@given(st.lists(numbers, min_size=1, max_size=12, unique_by=lambda x: x + 0.0), st.data())
def test_a_number_goes_to_the_first_interval_that_reaches_it(cuts, data):
    cuts = sorted({cut + 0.0 for cut in cuts})
    values = data.draw(st.lists(st.one_of(numbers, st.sampled_from(cuts)), min_size=1))
    codes = interval_codes(cuts, np.array(values))
    for value, code in zip(values, codes.tolist(), strict=True):
        assert code == next((i for i, cut in enumerate(cuts) if value <= cut), len(cuts))
    names = interval_names(cuts)
    assert list(names) == sorted(names)
    assert len(set(names)) == len(cuts) + 1


@given(st.dictionaries(st.text("ab=,", min_size=1), st.sets(numbers, min_size=1), min_size=1))
def test_cuts_as_text_read_back(found):
    cuts = {name: tuple(sorted({cut + 0.0 for cut in each})) for name, each in found.items()}
    assert parse_cuts(cuts_text(cuts)) == cuts


def test_a_mixed_table_is_cut_where_it_is_read(csv_file):
    path = csv_file("age,sex\n39,m\n40,f\n 40.5,f\n1e308,m\n-0.0,m\n")
    data = read_dataset(path, "categorical", Preparation(cuts={"age": (0, 40)}))
    assert cells(data, "age") == [
        "2: (0, 40]",
        "2: (0, 40]",
        "3: (40, inf)",
        "3: (40, inf)",
        "1: (-inf, 0]",
    ]
    assert data.schema.to_dict() == {"age": {"cuts": [0.0, 40.0]}, "sex": ["f", "m"]}
    assert data.schema.cuts == {"age": (0.0, 40.0)}
    assert read_dataset(path, "categorical", schema=data.schema) == data


@pytest.mark.parametrize("cell", ["nan", "inf", "old", "1,5", "1_0"])
def test_what_is_no_number_cannot_be_cut(csv_file, cell):
    path = csv_file(f'age,sex\n1,m\n"{cell}",f\n')
    with pytest.raises(DataError, match="'age', row 2: .* must be a finite number"):
        read_dataset(path, "categorical", Preparation(cuts={"age": (40,)}))


def test_an_integer_that_is_not_exact_is_an_identifier(csv_file):
    path = csv_file("id,sex\n1,m\n9007199254740993,f\n")
    with pytest.raises(DataError, match=r"beyond 2\^53.*--leave-out id"):
        read_dataset(path, "categorical", Preparation(cuts={"id": (40,)}))


def test_cuts_are_part_of_what_is_agreed(tmp_path):
    schema = Schema((Variable.cut("age", [40, 60], missing=True), Variable("sex", ("f", "m"))))
    other = Schema((Variable.cut("age", [40, 61], missing=True), Variable("sex", ("f", "m"))))
    assert schema.hash != other.hash
    write_schema(schema, tmp_path / "s.json")
    assert read_schema(tmp_path / "s.json") == schema
    plain = Schema((Variable.cut("age", [40, 60]), Variable("sex", ("f", "m"))))
    assert union_schema({"a": schema, "b": plain}) == schema
    with pytest.raises(SchemaError, match=r"'age': client 'a' has cuts \[40.0, 60.0\]"):
        union_schema({"a": schema, "b": other})
    for wrong in ({"cuts": [2, 1]}, {"cuts": ["x"]}, {"cuts": [1], "more": 2}, {"cuts": 3}):
        with pytest.raises(SchemaError, match="'age'"):
            Schema.from_dict({"age": wrong})
    with pytest.raises(SchemaError, match="the states must be"):
        Variable("age", ("young", "old"), (40.0,))


def test_missing_cells_are_refused_with_their_number_and_the_choices(csv_file):
    path = csv_file("a,b\nx,\n?,y\n?,\nx,y\n")
    with pytest.raises(DataError) as error:
        read_dataset(path, "categorical", Preparation(missing=("?",)))
    for words in ("'a', row 2", "4 cells in 3 rows and 2 columns", "state or drop-rows"):
        assert words in str(error.value)


def test_missing_cells_as_a_state(csv_file):
    path = csv_file("a,b,c\nx,1,u\n?,,u\nx,3,v\n")
    how = Preparation(missing=("?",), missing_cells="state", cuts={"b": (2,)})
    data = read_dataset(path, "categorical", how)
    assert cells(data, "a") == ["x", "missing", "x"]
    assert cells(data, "b") == ["1: (-inf, 2]", "missing", "2: (2, inf)"]
    assert data.schema.to_dict()["b"] == {"cuts": [2.0], "missing": True}
    twice = csv_file("a,b\nmissing,1\n,2\n")
    with pytest.raises(DataError, match="would be the same state"):
        read_dataset(twice, "categorical", Preparation(missing_cells="state"))


def test_missing_cells_drop_their_rows(csv_file):
    how = Preparation(missing_cells="drop-rows")
    few = read_prepared(csv_file("a,b\n,0\n" + "x,1\ny,2\n" * 20), "categorical", how)
    assert few.rows_dropped == 1
    assert few.dataset.schema.to_dict() == {"a": ["x", "y"], "b": ["1", "2"]}
    many = csv_file("a,b\n1,0\nx,1\n,2\n")
    with pytest.warns(FedbnWarning, match="because a cell is missing, 1 of 3 rows is left out"):
        assert read_prepared(many, "categorical", how).rows_dropped == 1
    numbers_only = csv_file("a,b\n1,0\n2,1\nNA,2\n")
    how = Preparation(missing=("NA",), missing_cells="drop-rows")
    with pytest.warns(FedbnWarning, match="left out"):
        assert read_dataset(numbers_only, "gaussian", how).values.tolist() == [[1, 0], [2, 1]]
    with pytest.raises(DataError, match="every row has a missing cell"):
        read_dataset(csv_file("a,b\nx,\n,y\n"), "categorical", how)


def test_a_choice_of_columns(csv_file):
    path = csv_file("id,a,b\n1,x,1\n2,y,\n3,x,2\n")
    data = read_dataset(path, "categorical", Preparation(columns=("a",)))
    assert data.names == ("a",)
    how = Preparation(leave_out=("id", "b"))
    assert read_dataset(path, "categorical", how) == data
    with pytest.raises(DataError, match="no column 'idd'; did you mean 'id'"):
        read_dataset(path, "categorical", Preparation(leave_out=("idd",)))
    with pytest.raises(ConfigError, match="'a' cannot be both"):
        Preparation(columns=("a",), leave_out=("a",))


def test_other_dialects(csv_file):
    path = csv_file("größe;x\n1,5;a\n2;b\n", "latin-1")
    with pytest.raises(DataError, match="line 1 must be UTF-8.*--encoding latin-1"):
        read_dataset(path, "categorical")
    half = Preparation(columns=("größe",), form=TableFormat(";", encoding="latin-1"))
    with pytest.raises(DataError, match="row 1: '1,5' must be a finite.*--decimal ','"):
        read_dataset(path, "gaussian", half)
    whole = Preparation(columns=("größe",), form=TableFormat(";", ",", "latin-1"))
    assert read_dataset(path, "gaussian", whole).values.tolist() == [[1.5], [2.0]]
    for wrong in (("",), (",", "'"), (",", ".", "utf-7"), (",", ",")):
        with pytest.raises(ConfigError):
            TableFormat(*wrong)


def test_parquet_doubles_are_cut_or_refused_with_the_cure(tmp_path):
    path = tmp_path / "t.parquet"
    columns = {"x": pa.array([1.5, None, 3.0]), "y": pa.array(["a", "b", "a"])}
    pyarrow.parquet.write_table(pa.table(columns), path)
    with pytest.raises(DataError, match="--cuts x=... or --discretise x:3"):
        read_dataset(path, "categorical", Preparation(missing_cells="state"))
    how = Preparation(cuts={"x": (2,)}, missing_cells="state")
    assert cells(read_dataset(path, "categorical", how), "x") == [
        "1: (-inf, 2]",
        "missing",
        "2: (2, inf)",
    ]


@pytest.mark.parametrize(
    "text",
    [
        'a,b\nx,"y"z\n',
        'a,b\n"x,y\n',
        'a,b\nx,y"\n',
        'a,b\n"x""",y\n',
        'a,b\n""",",x\n',
        'a\n"\n"\n',
    ],
)
def test_quotes_are_read_as_the_strict_reader_does(csv_file, text):
    import csv
    import io

    try:
        expected = list(csv.reader(io.StringIO(text, newline=""), strict=True))[1:]
    except csv.Error:
        with pytest.raises(DataError, match="not CSV"):
            read_dataset(csv_file(text), "categorical")
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FedbnWarning)
        data = read_dataset(csv_file(text), "categorical")
    found = [[cells(data, name)[i] for name in data.names] for i in range(data.n_rows)]
    assert found == expected


def test_two_spellings_of_one_state_are_refused_between_sites():
    schema = Schema.categorical
    for one, other in (("Yes", "yes"), ("22", "22.0"), ("a ", "a")):
        with pytest.raises(SchemaError) as error:
            require_one_spelling({"n": schema({"x": [one, "z"]}), "s": schema({"x": [other]})})
        assert all(repr(word) in str(error.value) for word in (one, other, "n", "s"))
    both = schema({"x": ["Yes", "yes"]})
    require_one_spelling({"n": both, "s": schema({"x": ["yes"]})})
    require_one_spelling({"n": schema({"x": ["nan", "inf"]}), "s": schema({"x": ["1"]})})


def test_na_like_states_are_told_with_their_number(csv_file):
    path = csv_file("a,b\nNA,x\nNA,y\n1,x\n")
    with pytest.warns(FedbnWarning, match="'a' has the state 'NA' in 2 rows.*--missing 'NA'"):
        read_dataset(path, "categorical")


def test_spaces_between_cells_and_a_table_without_a_header(csv_file):
    path = csv_file("59 2\n48 1\n50 2\n")
    with pytest.raises(DataError, match="use --separator space"):
        read_dataset(path, "gaussian")
    with pytest.warns(FedbnWarning, match="such as '59': is there a header"):
        data = read_dataset(path, "gaussian", Preparation(form=TableFormat("space")))
    assert data.values.tolist() == [[1.0, 48.0], [2.0, 50.0]]
    assert read_dataset(csv_file("0,1\na,x\nb,y\n"), "categorical").names == ("0", "1")


def test_a_first_line_that_tells_sizes_is_no_header(csv_file):
    """As in scikit-learn's iris.csv: rows, columns, and the names of the classes."""
    path = csv_file("150,4,setosa\n5.1,3.5,0\n4.9,3.0,1\n")
    words = "2 of 3 names of columns are numbers, such as '150'.*--header no.*--skip-lines 1"
    with pytest.warns(FedbnWarning, match=words):
        read_dataset(path, "categorical")


@pytest.mark.parametrize("text", ["age;jöb\n1;x\n2;y\n", "a,b\n1,x\n2,y\n"])
@pytest.mark.parametrize("bytes_first", ["utf-16-le", "utf-16-be"])
def test_utf_16_is_read_if_said_and_known_if_not(tmp_path, text, bytes_first):
    path = tmp_path / "t.csv"
    separator = ";" if ";" in text else ","
    plain, wide = (TableFormat(separator, encoding=name) for name in ("utf-8", "utf-16"))
    path.write_bytes(("\ufeff" + text).encode(bytes_first))
    for form in (plain, TableFormat(separator, encoding="latin-1")):
        with pytest.raises(DataError, match="is UTF-16: use --encoding utf-16"):
            read_dataset(path, "categorical", Preparation(form=form))
    found = read_dataset(path, "categorical", Preparation(form=wide))
    path.write_bytes(text.encode("utf-8"))
    assert found == read_dataset(path, "categorical", Preparation(form=plain))
    with pytest.raises(DataError, match="no byte order mark of UTF-16: convert it to UTF-8"):
        read_dataset(path, "categorical", Preparation(form=wide))
    path.write_bytes(text.encode(bytes_first))
    with pytest.raises(DataError, match="many NUL bytes.*convert it to UTF-8"):
        read_dataset(path, "categorical", Preparation(form=plain))
