"""Names of columns and sites that a spreadsheet, an XML reader or a browser would take amiss."""

from __future__ import annotations

import csv
import re
import unicodedata
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

from fedbn.consensus.mcbnc import mcbnc_path
from fedbn.consensus.threshold import select_consensus
from fedbn.errors import FedbnWarning
from fedbn.graphs.dag import DAG
from fedbn.graphs.files import read_structures
from fedbn.results.outcome import Client, Outcome
from fedbn.results.report import write_results
from fedbn.spreadsheet import read_cell

FORMULA = re.compile(r"[=+\-@\t\r]")
BLANK = "\u00a0\u2003\u200b\ufeff "
SEPARATED = re.compile(r"(?:[^;\\]|\\.)+")
NUMBER = re.compile(r"[+\-][0-9.e+\-]*")
NAMES = ("=1+1", "@SUM(A1)", '=HYPERLINK("http://a.b","c")', "-2+3+cmd|' /C calc'!A0")
LABELS = ("=1;2", "=1", "2", "</script><script>alert(1)</script>")


def write(
    folder: Path, names: tuple[str, ...], labels: tuple[str, ...], *, figures: bool = False
) -> Path:
    """A results folder of a chain over the names and, of one site, another structure."""
    ordered = sorted(names)
    chain = DAG.from_edges(ordered, list(pairwise(ordered)))
    stray = DAG.from_edges(ordered, [(ordered[0], ordered[-1])])
    dags = [chain] * (len(labels) - 1) + [stray]
    clients = tuple(
        Client(label, (dag,), (Fraction(1),)) for label, dag in zip(labels, dags, strict=True)
    )
    path = mcbnc_path(dags)
    outcome = Outcome(clients, path, select_consensus(path), refused=(("=3", "round 1: =3"),))
    return write_results(outcome, folder / "out", run={}, figures=figures)


def test_no_cell_of_any_file_is_a_formula_and_names_are_read_back(tmp_path: Path) -> None:
    """`=cmd|...` as a name was a formula in four files: it runs where somebody opens them.

    Programs that drop blanks, or narrow signs of full width (NFKC), take `\u00a0=cmd` for one, too.
    """
    labels = (*LABELS, "\u00a0=1+1", "\u200b@a", "\uff1d1+1", "\u2003\uff0b1+a")
    out = write(tmp_path, NAMES, labels)
    files = sorted(out.glob("*.csv"))
    assert {"clients.csv", "consensus.csv", "edges.csv", "path.csv"} <= {f.name for f in files}
    for file in files:
        with file.open(newline="", encoding="utf-8") as content:
            for cell in (cell for row in csv.reader(content) for cell in row):
                plain = unicodedata.normalize("NFKC", cell.lstrip(BLANK))
                assert not FORMULA.match(plain) or NUMBER.fullmatch(plain), (file.name, cell)
    with (out / "clients.csv").open(newline="", encoding="utf-8") as content:
        assert [read_cell(row["client"]) for row in csv.DictReader(content)] == list(labels)
    (read,) = read_structures(out / "consensus.csv")
    (exact,) = read_structures(out / "consensus.json")
    assert set(read.dag.edges) == set(exact.dag.edges) != set()


def test_sites_with_a_semicolon_stay_as_many_as_they_are(tmp_path: Path) -> None:
    """The site `=1;2`, and the sites `=1` and `2`, were the same words where an edge's are told."""
    out = write(tmp_path, NAMES, LABELS)
    with (out / "edges.csv").open(newline="", encoding="utf-8") as content:
        told = [read_cell(row["supporters"]) for row in csv.DictReader(content)]
    found = [[re.sub(r"\\(.)", r"\1", label) for label in SEPARATED.findall(text)] for text in told]
    assert {tuple(labels) for labels in found} <= {LABELS, LABELS[:-1], LABELS[-1:]}
    assert LABELS[:-1] in {tuple(labels) for labels in found}


def test_control_characters_are_in_no_drawing(tmp_path: Path) -> None:
    """A name with \\x01 or \\x0b made files that no reader of XML takes."""
    names = ("a\x01", "b\x0b<", "c&\x1b[31m", "d\x7f")
    with pytest.warns(FedbnWarning, match="consensus.graphml is left out: GraphML cannot hold"):
        out = write(tmp_path, names, ("x", "y\x02", "z"), figures=True)
    drawn = [*out.rglob("*.svg"), *out.rglob("*.graphml")]
    assert len(drawn) > 1
    for file in drawn:
        ElementTree.parse(file)
    (read,) = read_structures(out / "consensus.json")
    assert set(read.dag.names) == set(names)
