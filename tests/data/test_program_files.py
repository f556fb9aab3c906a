"""Excel, SPSS, Stata and Feather: the same table as in CSV, and errors that say what to do."""

import io
import zipfile
from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fedbn.data.columns import column_names
from fedbn.data.dataset import Dataset
from fedbn.data.inspection import inspect
from fedbn.data.preparation import Preparation
from fedbn.data.table import Table
from fedbn.data.table_format import TableFormat
from fedbn.data.tables import read_dataset
from fedbn.errors import DataError, FedbnWarning

FRAME = pd.DataFrame(
    {
        "age": [31, 45, 62, 58, 29, 40],
        "bmi": [22.5, 31.25, 28.0, 24.1, 19.9, 33.3],
        "smoker": ["no", "yes", "yes", "no", "no", "yes"],
    }
)
HOW = Preparation(cuts={"age": (40.0,), "bmi": (25.0,)})


def csv_of(frame: pd.DataFrame, folder: Path) -> Dataset:
    frame.to_csv(folder / "same.csv", index=False)
    return read_dataset(folder / "same.csv", "categorical", HOW)


def same(one: Dataset, other: Dataset) -> bool:
    return one.schema == other.schema and np.array_equal(one.codes, other.codes)


def test_feather(tmp_path: Path) -> None:
    FRAME.to_feather(tmp_path / "a.feather")
    found = read_dataset(tmp_path / "a.feather", "categorical", HOW)
    assert same(found, csv_of(FRAME, tmp_path))


def test_excel_by_sheet_and_header(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl")
    path = tmp_path / "a.xlsx"
    with pd.ExcelWriter(path, engine="openpyxl") as book:
        pd.DataFrame({"note": ["not this one"]}).to_excel(book, sheet_name="notes", index=False)
        FRAME.to_excel(book, sheet_name="visits", index=False, startrow=2)
    form = TableFormat(sheet="visits", skip_lines=2)
    assert column_names(path, form) == ("age", "bmi", "smoker")
    found = read_dataset(path, "categorical", Preparation(cuts=HOW.cuts, form=form))
    assert same(found, csv_of(FRAME, tmp_path))
    with pytest.raises(DataError, match="has no sheet 'visit'; did you mean 'visits'"):
        column_names(path, TableFormat(sheet="visit"))


def test_excel_with_gaps_dates_and_mixed_cells(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (
        ["grade", "dose", "visit"], [1, "<5", date(2021, 3, 5)], [None, 7, date(2021, 3, 6)],
        [2.0, 7, date(2021, 3, 6)], [None, None, None],
    ):  # fmt: skip
        book.active.append(row)
    book.save(tmp_path / "b.xlsx")
    how = Preparation(leave_out=("visit",), missing_cells="state")
    found = read_dataset(tmp_path / "b.xlsx", "categorical", how)
    assert found.n_rows == 3
    assert found.schema.to_dict() == {"dose": ["7", "<5"], "grade": ["1", "2", "missing"]}
    (visit,) = [each for each in inspect(tmp_path / "b.xlsx").columns if each.name == "visit"]
    assert visit.kind == "other"


def test_a_formula_without_its_value_is_no_missing_cell(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["dose", "twice"], [1, "=2*A2"], [2, "=2*A3"]):
        book.active.append(row)
    book.save(tmp_path / "c.xlsx")  # openpyxl calculates nothing
    with pytest.raises(DataError, match=r"cell B2: the formula '=2\*A2' has no value in the file"):
        read_dataset(tmp_path / "c.xlsx", "categorical")


def test_a_column_of_a_sheet_without_a_name_is_named_or_left_out(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in ([None, "dose", "smoker"], [1, "low", "no"], [2, "high", "yes"]):
        book.active.append(row)
    book.save(tmp_path / "d.xlsx")
    with pytest.raises(DataError, match="column 1 has no name: .* --leave-out V1"):
        read_dataset(tmp_path / "d.xlsx", "categorical")
    found = read_dataset(tmp_path / "d.xlsx", "categorical", Preparation(leave_out=("V1",)))
    assert found.names == ("dose", "smoker")


def test_a_damaged_sheet_is_refused(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["dose", "smoker"], [1, "no"], [2, "yes"]):
        book.active.append(row)
    book.save(tmp_path / "whole.xlsx")
    with (
        zipfile.ZipFile(tmp_path / "whole.xlsx") as whole,
        zipfile.ZipFile(tmp_path / "e.xlsx", "w") as torn,
    ):
        for name in whole.namelist():
            content = whole.read(name)
            torn.writestr(name, content[:-60] if name.endswith("sheet1.xml") else content)
    with pytest.raises(DataError, match=r"e\.xlsx"):
        read_dataset(tmp_path / "e.xlsx", "categorical")


@pytest.mark.parametrize("suffix", ["sav", "dta"])
def test_spss_and_stata_with_labels(tmp_path: Path, suffix: str) -> None:
    pyreadstat = pytest.importorskip("pyreadstat")
    coded = FRAME.assign(smoker=FRAME.smoker.map({"no": 0, "yes": 1}))
    path = tmp_path / f"a.{suffix}"
    labels = {"smoker": {0: "no", 1: "yes"}}
    getattr(pyreadstat, f"write_{suffix}")(coded, str(path), variable_value_labels=labels)
    assert same(read_dataset(path, "categorical", HOW), csv_of(FRAME, tmp_path))
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(DataError, match=f"a.{suffix} cannot be read"):
        read_dataset(path, "categorical", HOW)


@pytest.mark.parametrize("version", [5, 8])
def test_sas_transport(tmp_path: Path, version: int) -> None:
    pyreadstat = pytest.importorskip("pyreadstat")
    path = tmp_path / "a.xpt"
    pyreadstat.write_xport(FRAME, str(path), file_format_version=version)
    assert same(read_dataset(path, "categorical", HOW), csv_of(FRAME, tmp_path))
    smoker = ["no", None, "yes", " ", "no", "yes"]
    gaps = FRAME.assign(smoker=smoker, age=FRAME.age.where(FRAME.age > 30))
    pyreadstat.write_xport(gaps, str(path), file_format_version=version)
    with pytest.raises(DataError, match="missing"):
        read_dataset(path, "categorical", HOW)
    how = Preparation(cuts=HOW.cuts, missing_cells="drop-rows")
    with pytest.warns(FedbnWarning, match="because a cell is missing, 3 of 6 rows"):
        found = read_dataset(path, "categorical", how)
    assert found.n_rows == 3
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(DataError, match="a.xpt cannot be read"):
        read_dataset(path, "categorical", HOW)


def test_other_files_named_csv_are_known(tmp_path: Path) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("a.csv", "a\n1\n")
    path = tmp_path / "a.csv"
    path.write_bytes(packed.getvalue())
    with pytest.raises(DataError, match="a.csv is a zip archive, as Excel's files are"):
        read_dataset(path, "categorical")
    (tmp_path / "a.xlsx").write_bytes(b"a,b\n1,2\n")
    if pytest.importorskip("openpyxl"):
        with pytest.raises(DataError, match="is no Excel file"):
            read_dataset(tmp_path / "a.xlsx", "categorical")
    with pytest.raises(DataError, match="save it as .xlsx"):
        read_dataset(tmp_path / "a.xls", "categorical")


def test_inspect_proposes_a_decimal_comma(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    lines = [f"{i % 17 + i / 100:.2f};{i % 2}".replace(".", ",") for i in range(60)]
    path.write_text("crp;ill\n" + "\n".join(lines) + "\n")
    facts = inspect(path, Preparation(form=TableFormat(separator=";")))
    kinds = {each.name: each.kind for each in facts.columns}
    assert kinds == {"crp": "numbers", "ill": "categories"}
    assert "--decimal ," in facts.columns[0].remarks[0]
    assert facts.command.endswith("--separator ';' --decimal ,")
    assert "--cuts crp=" in facts.command
    assert "--leave-out" not in facts.command


def test_frames_as_pandas_has_them() -> None:
    frame = pd.DataFrame(
        {
            "count": [1, None, 3],
            "nullable": pd.array([1, None, 2], dtype="Int64"),
            "grade": pd.Categorical(["low", None, "high"]),
            "flag": pd.array([True, None, False], dtype="boolean"),
            "word": ["a", np.nan, "b"],
        }
    )
    table = Table.from_pandas(frame, how=Preparation(missing_cells="state", missing=()))
    assert table.schema.to_dict() == {
        "count": ["1", "3", "missing"],
        "flag": ["False", "True", "missing"],
        "grade": ["high", "low", "missing"],
        "nullable": ["1", "2", "missing"],
        "word": ["a", "b", "missing"],
    }
    numbers = pd.DataFrame({"x": pd.array([1.5, 2.5, 4.0], dtype="Float64"), "y": [1, 2, 3]})
    assert Table.from_pandas(numbers, "gaussian").dataset.values.tolist()[0] == [1.5, 1.0]
    dated = frame[["count"]].assign(day=pd.to_datetime(["2021-03-05", None, "2021-03-06"]))
    with pytest.raises(DataError, match="column 'day' holds dates or times like '2021-03-05"):
        Table.from_pandas(dated, how=Preparation(missing_cells="state"))
    kept = Preparation(missing_cells="state", leave_out=("day",))
    assert Table.from_pandas(dated, how=kept).names == ("count",)
