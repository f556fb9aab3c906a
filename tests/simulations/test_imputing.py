"""Missing cells that sites impute: through the command, and where a site is deployed."""

import json
import random
from pathlib import Path

import pytest

from tests.simulations.conftest import Fedbn

pytestmark = pytest.mark.filterwarnings("default::fedbn.errors.FedbnWarning")


def write(folder: Path, site: str, decided: str = "", *, depends: bool = False) -> Path:
    draw, lines = random.Random(site), ["a,b,c"]
    for _ in range(400):
        a = draw.random() < 0.5
        b = a if draw.random() < 0.85 else not a
        c = b if draw.random() < 0.85 else not b
        cells = [["no", "yes"][x] for x in (a, b, c)]
        if draw.random() < (0.45 if depends and a else 0.1):
            cells[1] = ""
        lines.append(",".join(cells))
    (folder / f"{site}.csv").write_text("\n".join(lines) + "\n")
    (folder / f"{site}.toml").write_text(f'table = "{site}.csv"\n{decided}')
    return folder / f"{site}.toml"


def simulate(fedbn: Fedbn, folder: Path, files: list[Path], *options: str) -> tuple[str, dict]:
    out = folder / "out"
    ran = fedbn("simulate", "--sites", *files, *options, "--engine", "in-process", "--out", out,
                "--quiet")  # fmt: skip
    assert ran.status == 0, ran.err
    return ran.err, json.loads((out / "run.json").read_text())


def test_shares_and_dependence_are_told_and_no_count_leaves(fedbn: Fedbn, tmp_path: Path) -> None:
    impute = 'missing-cells = "impute"\n[policy]\ncounts = true\n'
    files = [write(tmp_path, "north", impute), write(tmp_path, "south", impute, depends=True)]
    said, run = simulate(fedbn, tmp_path, files)
    assert set(run["imputed"]) == {"north", "south"}
    assert run["imputed"]["south"].keys() == {"b"}
    assert 0.2 < run["imputed"]["south"]["b"] < 0.35
    page = (tmp_path / "out" / "report.html").read_text()
    share = f"{100 * run['imputed']['south']['b']:.1f} %"
    assert "Missing cells that were imputed" in page
    assert f"<td>south</td><td>b</td><td>{share}</td>" in page.replace("\n", "")
    words = " ".join(said.split())
    assert "south: whether 'b' is missing" in words
    assert "north: whether" not in words
    assert not (tmp_path / "out" / "network.json").exists()
    edges = (tmp_path / "out" / "consensus.csv").read_text()
    simulate(fedbn, tmp_path, files)
    assert (tmp_path / "out" / "consensus.csv").read_text() == edges


def test_one_site_imputes_the_other_has_no_gaps(fedbn: Fedbn, tmp_path: Path) -> None:
    whole = 'missing-cells = "drop-rows"\n[policy]\ncounts = true\n'
    impute = 'missing-cells = "impute"\n'
    files = [write(tmp_path, "north", whole), write(tmp_path, "south", impute)]
    _, run = simulate(fedbn, tmp_path, files)
    assert set(run["imputed"]) == {"south"}


def test_several_imputations_are_several_structures(fedbn: Fedbn, tmp_path: Path) -> None:
    draw = random.Random(5)
    rows = [[draw.choice("xy") for _ in "abcd"] for _ in range(60)]
    rows = [[cell if draw.random() < 0.7 else "" for cell in [*row[:3], row[0]]] for row in rows]
    file = tmp_path / "north.csv"
    file.write_text("\n".join(map(",".join, [list("abcd"), *rows])) + "\n")
    (tmp_path / "north.toml").write_text('table = "north.csv"\nmissing-cells = "impute"\n')
    several = ("--row-weight", "4", "--imputations", "9")
    _, run = simulate(fedbn, tmp_path, [tmp_path / "north.toml"], *several)
    assert run["settings"]["imputations"] == 9
    (line,) = (tmp_path / "out" / "clients.csv").read_text().splitlines()[1:]
    assert 2 <= int(line.split(",")[2]) <= 9
    learned = fedbn("learn", file, "--missing-cells", "impute", *several, "--json")
    assert learned.status == 0, learned.err
    assert json.loads(learned.out)["score"] is None


def test_a_prepared_table_keeps_its_gaps(fedbn: Fedbn, tmp_path: Path) -> None:
    from fedbn.federation.prepared_table import contract_of, prepared_path, rows_of
    from fedbn.federation.site_file import read_site_file

    schema = '[schema]\na = ["no", "yes"]\nb = ["no", "yes"]\nc = ["no", "yes"]\n'
    file = write(tmp_path, "north", f'missing-cells = "impute"\n{schema}')
    assert fedbn("site", "prepare", file).status == 0
    site = read_site_file(file)
    kept = rows_of(
        prepared_path(tmp_path / "north.csv", site), contract_of(tmp_path / "north.csv", site)
    )
    assert kept.gone is not None
    lines = (tmp_path / "north.csv").read_text().splitlines()[1:]
    assert kept.gone[:, 1].tolist() == [",," in line for line in lines]
