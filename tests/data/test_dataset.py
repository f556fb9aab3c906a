"""Schema and Dataset: canonical order, checks, recoding."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbn.data.dataset import MOST, Dataset
from fedbn.data.mapping import SiteMapping
from fedbn.data.preparation import Preparation
from fedbn.data.schema import Schema, Variable, union_schema
from fedbn.data.table import Table
from fedbn.data.tables import read_dataset, write_table
from fedbn.errors import ConfigError, DataError, FedbnWarning, SchemaError
from fedbn.federation.agreement import negotiate
from fedbn.networks.family_counts import MAX_ROWS
from fedbn.scores.scatter import scatter_of_table

texts = st.text(min_size=1, max_size=5)
columns = st.dictionaries(
    texts, st.lists(texts, min_size=1, max_size=5, unique=True), min_size=1, max_size=5
)


@st.composite
def datasets(draw: st.DrawFn) -> Dataset:
    schema = Schema.categorical(draw(columns))
    rows = draw(st.integers(1, 8))
    cells = [
        [draw(st.integers(0, int(size) - 1)) for size in schema.cardinalities] for _ in range(rows)
    ]
    return Dataset(schema, np.array(cells))


@given(columns, st.randoms(use_true_random=False))
def test_schema_ignores_order_of_columns_and_states(states, random):
    names = list(states)
    random.shuffle(names)
    shuffled = {name: random.sample(states[name], len(states[name])) for name in names}
    schema = Schema.categorical(states)
    assert Schema.categorical(shuffled) == schema
    assert Schema.categorical(shuffled).hash == schema.hash
    assert list(schema.names) == sorted(states)
    assert Schema.from_dict(schema.to_dict()) == schema


def test_hash_tells_names_states_and_kinds_apart():
    schemas = [
        Schema.categorical({"a": ["0", "1"]}),
        Schema.categorical({"a": ["0", "2"]}),
        Schema.categorical({"a": ["0,1"]}),
        Schema.categorical({"b": ["0", "1"]}),
        Schema.gaussian(["a"]),
        Schema.gaussian(["a", "b"]),
    ]
    assert len({schema.hash for schema in schemas}) == len(schemas)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({}, ["at least one column"]),
        ({"a": []}, ["'a'", "at least one state"]),
        ({"a": ["x", "x"]}, ["'a'", "'x'", "twice"]),
        ({"a": ["x", 3]}, ["'a'", "3"]),
        ({"a": ["x", ""]}, ["'a'", "''"]),
        ({"a": "xy"}, ["'a'", "'xy'", "list"]),
        ({"": ["x"]}, ["name"]),
        (["a"], ["object"]),
    ],
)
def test_bad_schema_is_refused_with_the_value(columns, words):
    with pytest.raises(SchemaError) as error:
        Schema.from_dict(columns)
    assert all(word in str(error.value) for word in words)


def test_duplicate_column_is_refused():
    with pytest.raises(SchemaError, match="'a' occurs twice"):
        Schema((Variable("a"), Variable("a")))


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ([[0, 2]], ["'b'", "code 2", "0..1"]),
        ([[0, -1]], ["'b'", "code -1"]),
        ([[0]], ["[rows, 2]", "[1, 1]"]),
        (np.empty((0, 2), dtype=int), ["at least one row"]),
        ([[0.5, 0.0]], ["integers"]),
    ],
)
def test_bad_codes_are_refused(table, words):
    schema = Schema.categorical({"a": ["x", "y"], "b": ["x", "y"]})
    with pytest.raises(DataError) as error:
        Dataset(schema, np.array(table))
    assert all(word in str(error.value) for word in words)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_values_must_be_finite(bad):
    with pytest.raises(DataError, match="'b', row 2.*finite"):
        Dataset(Schema.gaussian(["a", "b"]), np.array([[0.0, 1.0], [0.0, bad]]))


def test_dataset_is_a_read_only_copy():
    table = np.array([[0, 1], [1, 0]])
    data = Dataset(Schema.categorical({"a": ["x", "y"], "b": ["x", "y"]}), table)
    table[0, 0] = 1
    assert data.codes[0, 0] == 0
    assert data.codes.dtype == np.int32
    with pytest.raises(ValueError, match="read-only"):
        data.codes[0, 0] = 1
    with pytest.raises(DataError, match="codes, not values"):
        _ = data.values


@given(datasets(), st.data())
def test_recoding_keeps_the_texts(data, draw):
    extra = draw.draw(st.fixed_dictionaries({name: st.sets(texts) for name in data.names}))
    larger = Schema.categorical(
        {
            name: set(states) | extra[name]
            for name, states in zip(data.names, data.schema.states, strict=True)
        }
    )
    recoded = data.with_schema(larger)
    for column in range(data.n):
        before = [data.schema.states[column][code] for code in data.codes[:, column]]
        after = [larger.states[column][code] for code in recoded.codes[:, column]]
        assert before == after
    assert recoded.with_schema(data.schema) == data


def test_with_schema_names_source_column_and_state():
    data = Dataset(Schema.categorical({"a": ["x", "y"]}), np.array([[0], [1]]))
    with pytest.raises(SchemaError, match=r"site-3: column 'a' has state 'y'.*'x', 'z'"):
        data.with_schema(Schema.categorical({"a": ["x", "z"]}), "site-3")
    with pytest.raises(SchemaError, match="site-3: column 'a' is not in the schema"):
        data.with_schema(Schema.categorical({"b": ["x", "y"]}), "site-3")
    wider = Schema.categorical({"a": ["x", "y"], "b": ["0"]})
    words = "^site-3: column 'b' of the schema is missing; the table must have all of its columns$"
    with pytest.raises(SchemaError, match=words):
        data.with_schema(wider, "site-3")
    with pytest.raises(SchemaError, match="columns are categorical, the schema's are gaussian"):
        data.with_schema(Schema.gaussian(["a"]), "site-3")


def test_a_state_that_no_row_has_may_be_absent_from_the_schema():
    data = Dataset(Schema.categorical({"a": ["x", "y", "z"]}), np.array([[0], [2]]))
    assert data.with_schema(Schema.categorical({"a": ["x", "z"]})).codes[:, 0].tolist() == [0, 1]


def test_take_keeps_the_order_of_rows():
    data = Dataset(Schema.gaussian(["a"]), np.array([[0.0], [1.0], [2.0]]))
    assert data.take([2, 0]).values[:, 0].tolist() == [2.0, 0.0]
    with pytest.raises(DataError, match="at least one row"):
        data.take([])


def test_union_schema_is_sorted_and_independent_of_clients_order():
    a = Schema.categorical({"x": ["b", "c"], "y": ["0"]})
    b = Schema.categorical({"x": ["a"], "y": ["10", "9"]})
    union = union_schema({"1": a, "2": b})
    assert union == union_schema({"2": b, "1": a})
    assert union.to_dict() == {"x": ["a", "b", "c"], "y": ["0", "10", "9"]}


def test_union_schema_names_clients_and_column():
    a, b = Schema.categorical({"x": ["0"], "y": ["0"]}), Schema.categorical({"x": ["0"]})
    with pytest.raises(
        SchemaError, match="client 'p' has no column 'y', client 'q' has one; variables = union "
    ):
        union_schema({"q": a, "p": b})
    with pytest.raises(SchemaError, match="'p' has categorical .* 'q' gaussian"):
        union_schema({"p": b, "q": Schema.gaussian(["x"])})
    with pytest.raises(SchemaError, match="at least one client"):
        union_schema({})


def test_a_table_of_both_kinds_keeps_numbers_and_states(tmp_path: Path) -> None:
    """Written, read, renamed, and told from one whose kinds are others."""
    how = Preparation(numbers=("age",))
    columns = {"sex": ["m", "f", "f"], "age": [40.5, 50.0, 60.0]}
    data = Table.from_columns(columns, "mixed", how).dataset
    assert (data.kind, data.schema.numbers) == ("mixed", ("age",))
    assert Schema.from_dict({"age": "number", "sex": ["m", "f"]}) == data.schema
    for name in ("t.csv", "t.parquet"):
        write_table(data, tmp_path / name)
        assert read_dataset(tmp_path / name, "mixed", how) == data
    wider = Schema.from_dict({"age": None, "sex": ["f", "m", "x"]})
    assert data.with_schema(wider).column(1).tolist() == data.column(1).tolist()
    mapped = SiteMapping({"sex": "a"}, {"a": {"m": "male"}}).apply(data)
    assert mapped.schema.to_dict() == {"a": ["f", "male"], "age": None}
    other = Schema.from_dict({"age": ["40.5"], "sex": ["f", "m"]})
    with pytest.raises(SchemaError, match="'age'"):
        union_schema({"n": data.schema, "s": other})
    found = negotiate({"n": data.schema, "s": other}, data.schema).mismatches
    assert "'age' as numbers or categories" in found["s"].words()
    for code in (0.5, 2.0, -1.0):
        with pytest.raises(DataError, match="not one of"):
            Dataset(data.schema, np.array([[1.0, code]]))
    assert data.take([2]).table.tolist() == [[60.0, 0.0]]
    with pytest.raises(DataError, match="mixed data have values"):
        _ = data.codes
    with pytest.raises(ConfigError, match="--numbers"):
        read_dataset(tmp_path / "t.csv", "mixed")
    with pytest.raises(DataError, match="mixed-bic and mixed-aic only"):
        read_dataset(tmp_path / "t.csv", "categorical", how)


def test_a_table_of_both_kinds_is_read_with_its_missing_cells(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    how = Preparation(numbers=("age",), missing_cells="impute")
    for place, gap in enumerate(("40.5,\n", ",m\n")):
        path.write_text("age,sex\n40,m\n50,f\n" + gap)
        found = read_dataset(path, "mixed", how)
        assert found.gone is not None
        assert np.argwhere(found.gone).tolist() == [[2, 1 - place]]
        dropped = replace(how, missing_cells="drop-rows")
        with pytest.warns(FedbnWarning, match="left out"):
            assert read_dataset(path, "mixed", dropped).n_rows == 2
    path.write_text("age,sex\n40,m\n50,f\n")
    assert read_dataset(path, "mixed", how).gone is None
    path.write_text("age,sex\n40,m\n50,\n")
    with pytest.raises(DataError, match="use --missing-cells impute, state or drop-rows"):
        read_dataset(path, "mixed", replace(how, missing_cells="refuse"))


def test_the_numbers_of_a_table_of_both_kinds_are_in_the_agreed_unit(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("age,sex\n480,m\n600,f\n")
    how = Preparation(numbers=("age",), factors={"age": 0.5})
    assert read_dataset(path, "mixed", how).column(0).tolist() == [240.0, 300.0]


def test_numbers_that_are_too_large_for_sums_are_refused_by_the_name_of_their_column() -> None:
    schema = Schema((Variable("a"), Variable("b", ("n", "y")), Variable("c")))
    table = np.array([[1.0, 0, -1e121], [2.0, 1, 0.0]])
    words = (
        r"column 'c': a number must be at most 1e\+120 in size, .* sums of products over all rows"
    )
    with pytest.raises(DataError, match=words):
        Dataset(schema, table)
    assert Dataset(schema, np.where(table == -1e121, 1e120, table)).n_rows == 2


def test_sums_of_products_of_the_largest_numbers_are_finite_over_as_many_rows_as_are_counted() -> (
    None
):
    schema = Schema((Variable("a"), Variable("b")))
    table = np.array([[MOST, -MOST], [-MOST, MOST], [MOST, MOST], [-MOST, -MOST]])
    found = scatter_of_table(Dataset(schema, table)).products
    assert found[0, 0] == pytest.approx(4 * MOST**2)
    assert np.isfinite(found * (MAX_ROWS / 4)).all()
