"""Rules for small counts reach all that a run writes: tables, report, parameters and answers.

Two federations whose tables differ only in what the rule hides must write the same bytes.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping
from itertools import cycle
from pathlib import Path

import pytest

from fedbn.results.page.files import PUBLIC_FILE
from tests.simulations.conftest import Fedbn

Cells = Mapping[tuple[int, int], int]

USUAL: Cells = {(0, 0): 60, (0, 1): 20, (1, 0): 20, (1, 1): 60, (1, 2): 30}
SMALL = [{**USUAL, (1, 0): few, (1, 1): 80 - few} for few in (3, 6)]
"""A cell of few rows, and a column sum that does not tell it."""
NEAR = [{**USUAL, (0, 0): 80 - n, (0, 1): n} for n in (21, 22)]
"""Counts that differ, and are the same multiples of 5 where they are rounded."""


def write_sites(folder: Path, tables: list[Cells], rule: str) -> list[Path]:
    files = []
    for name, cells in zip("nes", tables, strict=True):
        other = cycle("01")
        rows = [f"{a},{b},{next(other)}\n" for (a, b), n in cells.items() for _ in range(n)]
        (folder / f"{name}.csv").write_text("a,b,c\n" + "".join(rows))
        files.append(folder / f"{name}.toml")
        files[-1].write_text(
            f"name = '{name}'\ntable = '{name}.csv'\n"
            "[schema]\na = ['0', '1']\nb = ['0', '1', '2']\nc = ['0', '1']\n"
            f"[policy]\ncounts = true\ndiagnostics = true\ndisclosure = '{rule}'\n"
        )
    return files


def all_told(
    fedbn: Fedbn, folder: Path, tables: list[Cells], rule: str, choose: str
) -> dict[str, bytes]:
    """Every file that a run leaves, the report for the public, and an answer to a question."""
    files, out = write_sites(folder, tables, rule), folder / "out"
    ran = fedbn(
        "simulate", "--sites", *files, "--engine", "in-process", "--parameters", "federated",
        "--choose", choose, "--no-pooled", "--out", out, "--quiet",
    )  # fmt: skip
    assert ran.status == 0, ran.err
    assert fedbn("report", out, "--public").status == 0
    asked = fedbn("query", out, "--ask", "b", "--given", "a=1", "--json")
    found = {
        str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*") if path.is_file()
    }
    assert {"report.html", PUBLIC_FILE, "network.json", "consensus.bif", "run.json"} <= set(found)
    shutil.rmtree(out)
    printed = [asked.out, *(line for line in ran.err.splitlines() if "wrote" not in line)]
    return found | {"printed": "\n".join(printed).encode()}


@pytest.fixture(autouse=True)
def _no_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """No second differs."""
    for name in ("process_time", "perf_counter", "monotonic", "time"):
        monkeypatch.setattr(time, name, lambda: 0.0)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::fedbn.errors.FedbnWarning")
@pytest.mark.parametrize(
    ("rule", "choose", "tables"),
    [
        ("pcornet", "smhd", [[cells, USUAL, USUAL] for cells in SMALL]),
        ("opensafely", "smhd", [[s, n, USUAL] for s, n in zip(SMALL, NEAR, strict=True)]),
        ("opensafely", "counts", [[USUAL, cells, USUAL] for cells in NEAR]),
    ],
)
def test_what_a_rule_hides_is_nowhere(
    tmp_path: Path, fedbn: Fedbn, rule: str, choose: str, tables: list[list[Cells]]
) -> None:
    one, other = (all_told(fedbn, tmp_path, each, rule, choose) for each in tables)
    assert one.keys() == other.keys()
    assert [name for name in one if one[name] != other[name]] == []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::fedbn.errors.FedbnWarning")
def test_without_a_rule_it_is_everywhere(tmp_path: Path, fedbn: Fedbn) -> None:
    one, other = (
        all_told(fedbn, tmp_path, [s, n, USUAL], "none", "counts")
        for s, n in zip(SMALL, NEAR, strict=True)
    )
    different = {name for name in one if one[name] != other[name]}
    assert {"network.json", "consensus.bif", "report.html", "printed"} <= different
    assert PUBLIC_FILE not in different
