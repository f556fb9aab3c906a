"""The fast reader of CSV files takes what the strict one takes, and nothing else."""

from __future__ import annotations

import io
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbn.data import csv_columns, csv_scan
from fedbn.data.columns import column_names, read_columns
from fedbn.data.csv_scan import CsvScan
from fedbn.data.table_format import TableFormat
from fedbn.errors import DataError


def cells(path: Path, form: TableFormat | None = None) -> object:
    """Names and texts, or that the file is refused."""
    try:
        columns = read_columns(path, lambda names: names, lambda _: False, form)
    except DataError:
        return "refused"
    return {name: [each.texts[i] for i in each.index] for name, each in columns.items()}


def strictly(
    path: Path, monkeypatch: pytest.MonkeyPatch, form: TableFormat | None = None
) -> object:
    with monkeypatch.context() as patch:
        patch.setattr(csv_columns, "_fast_columns", lambda *_: None)
        return cells(path, form)


def test_every_short_body_is_read_as_the_strict_reader_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_columns, "_BLOCK", 8)
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
        monkeypatch.setattr(csv_columns, "_BLOCK", block)
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


def test_a_column_without_a_name_can_be_left_out(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(",a\n1,x\n2,y\n")
    assert column_names(path) == ("V1", "a")
    found = read_columns(path, lambda names: names[1:], lambda _: False)
    assert list(found["a"].texts) == ["x", "y"]
    with pytest.raises(DataError, match="column 1 has no name.*--leave-out V1"):
        read_columns(path, lambda names: names, lambda _: False)


@pytest.mark.parametrize("size", range(1, 26))
def test_blocks_do_not_matter(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(csv_scan, "_PIECE", 12)
    for text, simple in [(b'"a","b"\r\nc,"d"\n"e","f"', True), (b'a,"b,c"\n', False)]:
        scan = CsvScan(io.BytesIO(text), ",")
        while scan.read(size):
            pass
        assert scan.is_simply_quoted() == simple


WRONG = [b'"a"b,c"d"', b'a"b",c', b'"a","', b'"a", "b"', b'a"', b'a","b', b'"']
OTHER = [b'"a,"b"', b'"a""b",c', b'a,"b\n', b'"a\nb"', b'""""']


@pytest.mark.parametrize("text", [*WRONG, *OTHER])
def test_what_is_not_simple_is_seen(text: bytes) -> None:
    scan = CsvScan(io.BytesIO(text), ",")
    assert scan.read() == text
    assert not scan.is_simply_quoted()
