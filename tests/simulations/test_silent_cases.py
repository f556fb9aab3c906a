"""Sites that do not measure the same thing: what is said names site, column, values and cure."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.simulations.conftest import Fedbn

pytestmark = pytest.mark.filterwarnings("default::fedbn.errors.FedbnWarning")

ROWS = 150
Row = dict[str, Any]


def rows_of(site: str) -> list[Row]:
    draw = random.Random(site)
    found = []
    for _ in range(ROWS):
        ill = draw.random() < 0.4
        found.append(
            {
                "creatinine": round(draw.uniform(1.2, 1.9) if ill else draw.uniform(0.6, 1.2), 2),
                "height": round(draw.gauss(1.72, 0.09), 2),
                "sex": draw.choice(["female", "male"]),
                "smoker": draw.choice(["no", "yes"]),
                "ill": "yes" if ill else "no",
            }
        )
    return found


def write(folder: Path, site: str, rows: list[Row], decided: str = "") -> Path:
    lines = [",".join(rows[0]), *(",".join(str(cell) for cell in row.values()) for row in rows)]
    (folder / f"{site}.csv").write_text("\n".join(lines) + "\n")
    file = folder / f"{site}.toml"
    file.write_text(f'table = "{site}.csv"\n{decided}')
    return file


def sites(
    folder: Path, change: Callable[[Row], Row], decided: str = "", number: int = 2
) -> list[Path]:
    """North (and more like it) as it is, south changed."""
    kept = [write(folder, name, rows_of(name)) for name in ("north", "west")[: number - 1]]
    return [*kept, write(folder, "south", [change(row) for row in rows_of("south")], decided)]


CUTS = ("--cuts", "creatinine=1.0,1.3", "--cuts", "height=1.7")


def simulate(fedbn: Fedbn, folder: Path, files: list[Path], *options: str) -> Any:
    return fedbn(
        "simulate", "--sites", *files, *options, "--engine", "in-process", "--parameters", "none",
        "--out", folder / "out", "--quiet",
    )  # fmt: skip


def in_micromoles(row: Row) -> Row:
    return row | {"creatinine": round(row["creatinine"] * 88.4, 1)}


def test_a_unit_that_fills_one_interval_is_said_with_its_factor(
    fedbn: Fedbn, tmp_path: Path
) -> None:
    files = sites(tmp_path, in_micromoles)
    ran = simulate(fedbn, tmp_path, files, *CUTS)
    assert ran.status == 0
    words = " ".join(ran.err.split())
    assert "south.csv: column 'creatinine': all 150 numbers" in words
    assert "'3: (1.3, inf)'" in words
    assert "mg/dL to µmol/L, factor 88.42?" in words
    assert '[factors] is "creatinine" = 0.0113097' in words
    files = sites(tmp_path, in_micromoles, '[factors]\n"creatinine" = 0.0113097\n')
    ran = simulate(fedbn, tmp_path, files, *CUTS)
    assert ran.status == 0
    assert "creatinine" not in ran.err


def test_another_scale_is_seen_in_the_histograms_of_common_cut_points(
    fedbn: Fedbn, tmp_path: Path
) -> None:
    files = sites(tmp_path, lambda row: row | {"height": round(row["height"] * 100)}, number=3)
    ran = simulate(fedbn, tmp_path, files, "--discretise", "height:3", "--cuts", "creatinine=1")
    words = " ".join(ran.err.split())
    assert "column 'height': the numbers of" in words
    assert "south.csv are about 1" in words
    assert "m to cm, factor 100?" in words
    assert '"height" = 0.01' in words
    assert "creatinine" not in words


def test_states_of_other_words_are_refused_with_the_lines_of_a_mapping(
    fedbn: Fedbn, tmp_path: Path
) -> None:
    letters = sites(tmp_path, lambda row: row | {"sex": row["sex"][0].upper()})
    ran = simulate(fedbn, tmp_path, letters, *CUTS)
    assert ran.status != 0
    words = " ".join(ran.err.split())
    assert "column 'sex': client 'north' has 'female', 'male', client 'south' has 'F', 'M'" in words
    assert '[states."sex"]: "F" = "female", "M" = "male"' in words
    mapped = sites(
        tmp_path,
        lambda row: row | {"sex": row["sex"][0].upper()},
        '[states."sex"]\n"F" = "female"\n"M" = "male"\n',
    )
    ran = simulate(fedbn, tmp_path, mapped, *CUTS)
    assert ran.status == 0, ran.err
    assert "sex" not in ran.err
    kept = simulate(fedbn, tmp_path, letters[:1] + letters[1:], *CUTS, "--spellings", "accept")
    assert kept.status == 0


def test_one_file_twice_is_refused_and_a_copy_is_said(fedbn: Fedbn, tmp_path: Path) -> None:
    north, south = sites(tmp_path, lambda row: row)
    ran = simulate(fedbn, tmp_path, [north, north], *CUTS)
    assert ran.status != 0
    assert "every site must have a table of its own" in " ".join(ran.err.split())
    (tmp_path / "south.csv").write_bytes((tmp_path / "north.csv").read_bytes())
    ran = simulate(fedbn, tmp_path, [north, south], *CUTS)
    assert ran.status == 0
    assert "hold the same rows: is it one table, given twice?" in " ".join(ran.err.split())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda i, row: row | {"visit": f"2021-{i % 12 + 1:02}-01"},
            "column 'visit' holds dates ('2021-01-01', '2021-02-01' and 10 more)",
        ),
        (lambda i, row: row | {"record": f"p{i}"}, "column 'record' has 150 states in 150 rows"),
        (
            lambda i, row: row | {"creatinine": -9 if i % 30 == 0 else row["creatinine"]},
            "column 'creatinine' has the number -9 in 5 rows, far from all others; if it stands "
            "for a missing value, use --missing -9",
        ),
        (
            lambda i, row: row | {"grade": ("-9", "1", "2")[i % 3]},
            "column 'grade' has the number -9 in 50 rows",
        ),
        (
            lambda i, row: row | {"grade": ("1 ", "1", "2")[i % 3]},
            "column 'grade' has states that look like one: '1' (50 rows), '1 ' (50 rows); to make "
            'them one, the line in the site\'s file under [states."grade"] is "1 " = "1"',
        ),
        (
            lambda i, row: row | {"smoker": "Yes" if i % 15 == 7 else row["smoker"]},
            "column 'smoker' has states that look like one: 'Yes' (10 rows), 'yes' (",
        ),
    ],
    ids=["dates", "identifiers", "-9", "-9 as a state", "blank", "case"],
)
def test_odd_cells_within_a_table_are_said(
    fedbn: Fedbn, tmp_path: Path, change: Callable[[int, Row], Row], words: str
) -> None:
    files = [
        write(tmp_path, site, [change(i, row) for i, row in enumerate(rows_of(site))])
        for site in ("north", "south")
    ]
    ran = simulate(fedbn, tmp_path, files, *CUTS)
    assert (ran.status == 0) == ("record" not in words)  # whose states a site refuses to name
    assert f"south.csv: {words}" in " ".join(ran.err.split())


def test_numbers_of_records_that_are_cut_are_said(fedbn: Fedbn, tmp_path: Path) -> None:
    files = [
        write(tmp_path, site, [row | {"id": i * 7} for i, row in enumerate(rows_of(site))])
        for site in ("north", "south")
    ]
    ran = simulate(fedbn, tmp_path, files, "--discretise", "4")
    assert "column 'id' holds whole numbers that are nearly all different" in " ".join(
        ran.err.split()
    )


def test_plain_tables_give_no_word(fedbn: Fedbn, tmp_path: Path) -> None:
    ran = simulate(fedbn, tmp_path, sites(tmp_path, lambda row: row, number=3), *CUTS)
    assert (ran.status, ran.err) == (0, "")


def test_a_site_hears_of_the_unit_when_it_prepares_its_table(fedbn: Fedbn, tmp_path: Path) -> None:
    schema = '[schema]\ncreatinine = {cuts = [1.0, 1.3]}\nill = ["no", "yes"]\n'
    (_, south) = sites(tmp_path, in_micromoles, schema)
    ran = fedbn("site", "prepare", south)
    assert ran.status == 0, ran.err
    assert "factor 88.42?" in " ".join(ran.err.split())


def test_a_new_site_is_told_to_look_where_no_histogram_leaves(fedbn: Fedbn, tmp_path: Path) -> None:
    write(tmp_path, "north", rows_of("north"))
    assert fedbn("site", "new", tmp_path / "north.csv", "--out", tmp_path / "a.toml").status == 0
    assert "only this site can see" in (tmp_path / "a.toml").read_text()
    seen = ("--allow", "histograms", "--out", tmp_path / "b.toml")
    assert fedbn("site", "new", tmp_path / "north.csv", *seen).status == 0
    assert "only this site can see" not in (tmp_path / "b.toml").read_text()


def test_a_column_that_one_site_lacks_can_be_left_out_everywhere(
    fedbn: Fedbn, tmp_path: Path
) -> None:
    def without_height(row: Row) -> Row:
        return {name: cell for name, cell in row.items() if name != "height"}

    files = sites(tmp_path, without_height, number=3)
    cuts = ("--cuts", "creatinine=1.0,1.3")
    ran = simulate(fedbn, tmp_path, files, *cuts)
    assert ran.status != 0
    assert "leave such a column out everywhere, with --leave-out" in ran.err
    assert simulate(fedbn, tmp_path, files, *cuts, "--leave-out", "height").status == 0
    ran = simulate(fedbn, tmp_path, files, *cuts, "--leave-out", "heigth")
    assert "no table has the column 'heigth' that is left out; did you mean 'height'" in ran.err
    assert ran.status != 0
