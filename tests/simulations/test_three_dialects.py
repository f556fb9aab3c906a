"""The first page on tables, to the letter: three dialects, four commands, an answer."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from tests.simulations.conftest import Fedbn

pytestmark = pytest.mark.filterwarnings("default::fedbn.errors.FedbnWarning")

PAGE = (Path(__file__).resolve().parents[2] / "docs/tables-and-questions.md").read_text("utf-8")
PART = PAGE.split("## Two sites to try it with")[0]
SITES = re.findall(r"```toml\n# (\w+\.toml)\n(.*?)```", PART, flags=re.S)
COMMANDS = [
    shlex.split(line.removeprefix("$ fedbn "))
    for block in re.findall(r"```console\n(.*?)```", PART, flags=re.S)
    for line in block.splitlines()
    if line.startswith("$ ")
]


def patients(seed: int, rows: int = 400) -> list[tuple[float, str, str]]:
    """Creatinine in mg/dL, which smoking raises, and which makes ill."""
    rng = np.random.default_rng(seed)
    smoke = rng.random(rows) < 0.4
    creatinine = np.round(np.exp(rng.normal(0.1 + 0.4 * smoke, 0.25)), 2)
    ill = rng.random(rows) < np.where(creatinine > 1.3, 0.7, 0.15)
    words = np.array(["no", "yes"])
    return list(
        zip(creatinine.tolist(), words[smoke.astype(int)], words[ill.astype(int)], strict=True)
    )


def write_tables(folder: Path) -> None:
    from openpyxl import Workbook

    book = Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.append(["creatinine", "smoke", "ill"])
    for value, smoke, ill in patients(1):
        sheet.append([value, str(smoke), str(ill)])
    book.save(folder / "north.xlsx")
    german = {"no": "nein", "yes": "ja"}
    south = [
        f"{str(value).replace('.', ',')};{german[smoke]};{german[ill]}"
        for value, smoke, ill in patients(2)
    ]
    (folder / "south.csv").write_text("\n".join(["Kreatinin;Raucher;krank", *south, ""]))
    west = [
        f"{value * 88.42:.0f},{smoke if place % 20 else -9},{ill}"
        for place, (value, smoke, ill) in enumerate(patients(3))
    ]
    (folder / "west.csv").write_text("\n".join(["creatinine,smoke,ill", *west, ""]))


def write_sites(folder: Path, without: str = "") -> None:
    for name, text in SITES:
        kept = [line for line in text.splitlines() if not (without and line.startswith(without))]
        (folder / name).write_text("\n".join(kept) + "\n")


@pytest.mark.slow
def test_from_tables_to_an_answer_in_four_commands(
    fedbn: Fedbn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_tables(tmp_path)
    write_sites(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert [name for name, _ in SITES] == ["north.toml", "south.toml", "west.toml"]
    assert [command[0] for command in COMMANDS] == ["inspect", "check", "simulate", "query"]
    inspected, checked, simulated, asked = (fedbn(*command) for command in COMMANDS)
    for ran in (inspected, checked, simulated, asked):
        assert ran.status == 0, ran.err
    assert "is taken for a number with a decimal comma: --decimal ," in inspected.out
    assert "the parameters are without the rows of client 3: counts 1: refused" in simulated.err
    assert "counts (its policy lets none leave, or cells of its table are imputed" in simulated.err
    assert "no" in asked.out
    assert "yes" in asked.out
    edges = (tmp_path / "results/three/consensus.csv").read_text()
    assert "creatinine" in edges
    number = fedbn("query", "results/three", "--ask", "ill", "--given", "creatinine=2.1")
    assert "2.1 as '2: (1.3, inf)'" in number.err


@pytest.mark.slow
def test_another_unit_without_its_factor_is_told(
    fedbn: Fedbn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_tables(tmp_path)
    write_sites(tmp_path, without="creatinine = 0.0113097")
    monkeypatch.chdir(tmp_path)
    ran = fedbn(*COMMANDS[2])
    assert "lie in one interval of the agreed cuts, '2: (1.3, inf)'" in ran.err
    assert "mg/dL to µmol/L, factor 88.42?" in ran.err
    assert '"creatinine" = 0.0113097' in ran.err


@pytest.mark.slow
def test_the_same_tables_as_numbers(
    fedbn: Fedbn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No cut points at all: mixed-bic, chosen by sums; no parameters unless they are asked for."""
    write_tables(tmp_path)
    write_sites(tmp_path)
    west = (tmp_path / "west.toml").read_text().replace('"impute"', '"drop-rows"')
    (tmp_path / "west.toml").write_text(west)
    monkeypatch.chdir(tmp_path)
    ran = fedbn(
        "simulate", "--sites", "north.toml", "south.toml", "west.toml", "--score", "mixed-bic",
        "--numbers", "creatinine", "--choose", "climb", "--engine", "in-process",
        "--out", "results/mixed",
    )  # fmt: skip
    assert ran.status == 0, ran.err
    pairs = {
        frozenset(line.split(",")[:2])
        for line in (tmp_path / "results/mixed/consensus.csv").read_text().splitlines()[1:]
    }
    assert pairs == {frozenset(("creatinine", "smoke")), frozenset(("creatinine", "ill"))}
