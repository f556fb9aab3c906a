"""The fast reader of CSV files takes what the strict one takes, and nothing else."""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from threading import Event
from typing import BinaryIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbn.data import csv_arrow, csv_quotes
from fedbn.data.columns import column_names, read_columns
from fedbn.data.csv_quotes import Quoting, look_at_quotes
from fedbn.data.preparation import Preparation
from fedbn.data.schema import MISSING_CELLS, Kind
from fedbn.data.table_format import TableFormat
from fedbn.data.table_settings import TableSettings
from fedbn.data.tables import read_prepared
from fedbn.errors import DataError, FedbnWarning
from fedbn.federation.site_file import SiteFile
from fedbn.federation.site_table import site_numbers


def cells(
    path: Path, form: TableFormat | None = None, columns: Sequence[str] | None = None
) -> object:
    """Names and texts, or that the file is refused."""
    try:
        found = read_columns(path, lambda names: columns or names, lambda _: False, form)
    except DataError:
        return "refused"
    return {name: [each.texts[i] for i in each.index] for name, each in found.items()}


def strictly(
    path: Path,
    monkeypatch: pytest.MonkeyPatch,
    form: TableFormat | None = None,
    columns: Sequence[str] | None = None,
) -> object:
    with monkeypatch.context() as patch:
        patch.setattr(csv_arrow, "arrow_columns", lambda *_: None)
        return cells(path, form, columns)


def test_every_short_body_is_read_as_the_strict_reader_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_arrow, "_BLOCK", 8)
    path = tmp_path / "t.csv"
    for letters in product('a,"\n', repeat=5):
        path.write_text("x,y\n" + '"b",c\n' + "".join(letters))
        assert cells(path) == strictly(path, monkeypatch), letters


PARTS = ['a,"b"\n', '"a",b\n', "a,b\n", '"a,', '"', "\r", "\n", 'b"', ",", "é", "\r\n", '"\n"']


@given(st.lists(st.sampled_from(PARTS), max_size=12), st.sampled_from([16, 1 << 20]))
def test_longer_bodies_are_read_as_the_strict_reader_does(
    tmp_path_factory: pytest.TempPathFactory, parts: list[str], block: int
) -> None:
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    path.write_bytes(("x,y\n" + "".join(parts)).encode())
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(csv_arrow, "_BLOCK", block)
        for form in (TableFormat(), TableFormat(header="no", skip_lines=1)):
            assert cells(path, form) == strictly(path, monkeypatch, form)


def test_lines_before_the_header_are_skipped_and_a_header_may_be_absent(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"\xef\xbb\xbf178,13,class_0\n1,2\n3,4\n")
    assert column_names(path, TableFormat(skip_lines=1)) == ("1", "2")
    assert cells(path, TableFormat(skip_lines=1)) == {"1": ["3"], "2": ["4"]}
    none = TableFormat(header="no", skip_lines=1)
    assert cells(path, none) == {"V1": ["1", "3"], "V2": ["2", "4"]}
    with pytest.raises(
        DataError, match="row 1 has 2 cells, the table has 3.*--skip-lines 1.*--header no"
    ):
        read_columns(path, lambda names: names, lambda _: False)


MARK = "\ufeff"


@pytest.mark.parametrize(
    ("text", "form", "first"),
    [
        (f"x,y\n{MARK}1,2\n3,4\n", TableFormat(), [f"{MARK}1", "3"]),
        (f"x,y\n1,2\n{MARK}3,4\n", TableFormat(), ["1", f"{MARK}3"]),
        (f"{MARK}1,2\n3,4\n", TableFormat(header="no"), ["1", "3"]),
        (f"{MARK}{MARK}1,2\n3,4\n", TableFormat(header="no"), [f"{MARK}1", "3"]),
        (f"{MARK}of a survey\n{MARK}1,2\n", TableFormat(header="no", skip_lines=1), ["1"]),
        (f"of\na survey\n{MARK}x,y\n1,2\n", TableFormat(skip_lines=2), ["1"]),
    ],
)
def test_a_byte_order_mark_counts_where_a_table_begins_and_is_text_elsewhere(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    form: TableFormat,
    first: list[str],
) -> None:
    """pyarrow takes one for none where its rows begin."""
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode())
    found = cells(path, form)
    assert found == strictly(path, monkeypatch, form)
    names = ("V1", "V2") if form.header == "no" else ("x", "y")
    assert column_names(path, form) == names
    assert isinstance(found, dict)
    assert found[names[0]] == first


def test_a_column_without_a_name_can_be_left_out(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(",a\n1,x\n2,y\n")
    assert column_names(path) == ("V1", "a")
    found = read_columns(path, lambda names: names[1:], lambda _: False)
    assert list(found["a"].texts) == ["x", "y"]
    with pytest.raises(DataError, match="column 1 has no name.*--leave-out V1"):
        read_columns(path, lambda names: names, lambda _: False)


def slowly(text: bytes, mark: bytes) -> Quoting:
    """The slow twin of `look_at_quotes`: one byte after the other."""
    edges = {ord('"'), ord("\n"), ord("\r"), mark[0]}
    padded, inside, spanning = b"\n" + text + b"\n", False, False
    for before, byte, after in zip(padded, padded[1:], padded[2:], strict=False):
        if byte == ord('"'):
            inside = not inside
            if (before if inside else after) not in edges:
                return "wrong"
        spanning |= inside and byte in (ord("\n"), ord("\r"))
    if inside:
        return "wrong"
    return "spanning" if spanning else "plain" if b'"' in text else "none"


WRONG = [b'"a"b,c"d"', b'a"b",c', b'"a","', b'"a", "b"', b'a"', b'a","b', b'"', b'"a,"b"']


@pytest.mark.parametrize("text", WRONG)
def test_wrong_quotes_are_seen(text: bytes) -> None:
    assert look_at_quotes(io.BytesIO(text), ",") == slowly(text, b",") == "wrong"


@pytest.mark.parametrize("size", [*range(1, 9), 63, 64, 65, 1 << 17])
def test_pieces_of_a_file_do_not_matter(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(csv_quotes, "_PIECE", size)
    texts = ['a,"b""c,d"\n"e"', 'a,"b\nc",d', '"a\r"', 'a,"b"c', 'a,b"\n', '"a"', "ab,c\n", ""]
    found = [look_at_quotes(io.BytesIO(text.encode()), ",") for text in texts]
    assert found == ["plain", "spanning", "spanning", "wrong", "wrong", "plain", "none", "none"]


@given(
    st.lists(
        st.sampled_from(['"', '""', ',"', '",', '"\n', "\r", ",", "ab", "x" * 61]), max_size=40
    ),
    st.sampled_from([1, 7, 64, 1 << 17]),
    st.booleans(),
)
def test_quotes_are_looked_at_as_one_by_one(parts: list[str], size: int, mended: bool) -> None:
    text = "".join(parts)
    if mended:  # most random quotes are wrong: quote every cell, and all are right
        text = "\n".join('"' + cell.replace('"', '""') + '",a' for cell in text.split(","))
        assert slowly(text.encode(), b",") in ("plain", "spanning")
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(csv_quotes, "_PIECE", size)
        monkeypatch.setattr(csv_quotes, "_CACHED", 64)
        for mark in ",\t":
            content = text.replace(",", mark).encode()
            assert look_at_quotes(io.BytesIO(content), mark) == slowly(content, mark.encode())


@pytest.mark.parametrize("columns", [["x"], ["x", "y"]])
def test_quotes_of_columns_that_are_not_read_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: list[str]
) -> None:
    path = tmp_path / "t.csv"
    for cell in ('"b"', '"b', 'b"', '"b"c', '"a,b"', '"a""b"', '"a\nb"'):
        path.write_text(f"x,y,z\na,b,{cell}\na,b,c\n")
        assert cells(path, columns=columns) == strictly(path, monkeypatch, columns=columns), cell


@pytest.mark.parametrize("cell", [b"\xff", b'"\xff"', b'"a,\xff"'])
def test_columns_that_are_not_read_must_be_utf8(tmp_path: Path, cell: bytes) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"x,y\na," + cell + b"\n")
    assert cells(path, columns=["x"]) == "refused"


def test_a_file_that_changes_meanwhile_is_read_strictly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else pyarrow could have read other bytes than those whose quotes were looked at."""
    path, other = tmp_path / "t.csv", tmp_path / "other.csv"
    path.write_text("x,y\na,b\n")
    other.write_text('x,y\na,"b"c\n')

    def look(stream: BinaryIO, mark: str) -> Quoting:
        found = look_at_quotes(stream, mark)
        if other.exists():
            other.rename(path)
        else:
            path.unlink()
        looked_at.set()
        return found

    def read(self: object, types: object, *, spanning: bool = False) -> object:
        assert looked_at.wait(60)
        return pyarrow_reads(self, types, spanning=spanning)

    looked_at = Event()
    pyarrow_reads = csv_arrow._Reader.read
    monkeypatch.setattr(csv_arrow, "look_at_quotes", look)
    monkeypatch.setattr(csv_arrow._Reader, "read", read)
    assert cells(path) == {"x": ["a"], "y": ["b"]}
    assert cells(path) == "refused"  # the other file, which is there no more when pyarrow comes


NUMBERS = ["1", "-2.5", " 3", "007", "9", "nan", "1e999", "0x1F", f"{2**53 + 1}"]
CELLS = [*NUMBERS, "", "?", " ", "x"]
HOW = [
    Preparation(missing=missing, missing_cells=rule, cuts={"x": (0.0, 2.0)})
    for missing in ((), ("?",), ("9", "?"))
    for rule in MISSING_CELLS
]


def prepared(path: Path, kind: Kind, how: Preparation) -> object:
    """The data set and the rows dropped, or why there is none."""
    try:
        return read_prepared(path, kind, how)
    except DataError as error:
        return str(error)


@given(
    st.lists(st.tuples(*(st.sampled_from(CELLS),) * 2), min_size=1, max_size=5),
    st.sampled_from(["categorical", "gaussian"]),
    st.sampled_from(HOW),
    st.sampled_from(["", '"']),
)
def test_numbers_and_missing_cells_are_those_of_the_strict_reader(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[str, str]],
    kind: Kind,
    how: Preparation,
    quote: str,
) -> None:
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    lines = [f"{quote}{x}{quote},{y},a" for x, y in [("1", "1"), *rows]]
    path.write_text("x,y,z\n" + "\n".join(lines) + "\n")
    how = replace(how, cuts=how.cuts if kind == "categorical" else {}, columns=("x", "y"))
    with pytest.MonkeyPatch.context() as monkeypatch, warnings.catch_warnings():
        warnings.simplefilter("ignore", FedbnWarning)
        monkeypatch.setattr(csv_arrow, "_BLOCK", 24)
        fast = prepared(path, kind, how), numbers_at(path, how)
        monkeypatch.setattr(csv_arrow, "arrow_columns", lambda *_: None)
        assert fast == (prepared(path, kind, how), numbers_at(path, how))


def numbers_at(path: Path, how: Preparation) -> object:
    """The columns of numbers as a site finds them."""
    settings = TableSettings(missing=how.missing, missing_cells=how.missing_cells)
    found = site_numbers(path, settings, SiteFile())
    return {name: values.tolist() for name, values in found.items()}


def test_a_number_may_stand_for_a_missing_cell(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("x,y\n1,a\n999,b\n")
    how = Preparation(missing=("999",), cuts={"x": (5.0,)})
    with pytest.raises(DataError, match="'x', row 2: '999' stands for a missing value"):
        read_prepared(path, "categorical", how)
    found = read_prepared(path, "categorical", replace(how, missing_cells="state")).dataset
    assert found.codes[:, 0].tolist() == [0, 2]
