"""Search programs in R, Java and C++ on one table, for `simulations.benchmarks.search`.

bnlearn is run by `Rscript`, or by the one that the environment's RSCRIPT names; its seconds are
the CPU time of the search, as R tells it. The C++ program of XGES is the one that XGES_PROGRAM
names (`simulations.benchmarks.build_xges` makes it); its seconds are the CPU time of the whole
process, in which it reads 5,000 rows and makes their covariance in some milliseconds. Tetrad is the
jar that TETRAD_JAR names (the wheel tetrad-plus holds one), run by the `java` of the path, or of
JAVA; its seconds are the CPU time of all threads in the second of two searches, with making the
score: in the first Java compiles the program.
"""

from __future__ import annotations

import os
import resource
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from fedbn.data.dataset import Dataset

_BNLEARN = """
suppressMessages(library(bnlearn))
given <- commandArgs(TRUE)
arities <- scan("arities", quiet = TRUE)
table <- read.csv("table.csv")
for (i in seq_along(table)) table[[i]] <- factor(table[[i]], levels = 0:(arities[i] - 1))
began <- proc.time()
search <- get(given[1])
found <- if (given[2] == "bdeu") search(table, score = "bde", iss = 1) else
  search(table, score = given[2])
spent <- proc.time() - began
cat(spent[["user.self"]] + spent[["sys.self"]], "\\n")
write.table(amat(found) * 1, row.names = FALSE, col.names = FALSE)
"""
"""Arguments: hc or tabu, bdeu or bic; prints CPU seconds and the matrix of the DAG."""

_TETRAD = Path(__file__).with_name("TetradSearch.java")
"""Arguments: boss, grasp or fges, and the score; writes CPU seconds and the matrix of the CPDAG."""

Answer = dict[str, Any]


def bnlearn(search: str, data: Dataset, score: str, folder: Path, limit: float) -> Answer:
    """bnlearn's `hc` or `tabu` with BIC, or BDeu of iss 1, its other settings as they are."""
    rscript = os.environ.get("RSCRIPT", "Rscript")
    names = ",".join(f"v{i}" for i in range(data.n))
    options: dict[str, Any] = {"fmt": "%d", "delimiter": ",", "header": names, "comments": ""}
    np.savetxt(folder / "table.csv", data.codes, **options)
    (folder / "arities").write_text(" ".join(map(str, data.cardinalities)))
    (folder / "search.R").write_text(_BNLEARN)
    try:
        printed = _run([rscript, "search.R", search, score], folder, limit)
    except FileNotFoundError:
        return {"missing": f"no {rscript}"}
    except subprocess.CalledProcessError as error:
        if "there is no package" in error.stderr:
            return {"missing": "R has no package bnlearn"}
        raise
    seconds, *rows = printed.strip().splitlines()
    return {"seconds": float(seconds), "adjacency": [row.split() for row in rows]}


def xges_program(data: Dataset, score: str, folder: Path, limit: float) -> Answer:
    """The C++ program of the authors of XGES in its XGES-0 form, with the penalty of BIC."""
    program = os.environ.get("XGES_PROGRAM", "")
    if not os.access(program, os.X_OK):
        return {"missing": "XGES_PROGRAM names no program"}
    np.save(folder / "table.npy", np.ascontiguousarray(data.values))
    files = ["--input", "table.npy", "--output", "graph", "--stats", "stats"]
    before = _seconds_of_children()
    _run([program, *files, "--alpha", "1", "--xges0", "--verbose", "0"], folder, limit)
    seconds = _seconds_of_children() - before
    rows = (folder / "graph").read_text().splitlines()[1:]  # the first has the names
    return {"seconds": seconds, "adjacency": [row.split(", ") for row in rows]}


def tetrad(search: str, data: Dataset, score: str, folder: Path, limit: float) -> Answer:
    """Tetrad's BOSS, GRaSP or FGES with the penalty of BIC, or BDeu."""
    jar = os.environ.get("TETRAD_JAR", "")
    if not os.path.isfile(jar):
        return {"missing": "TETRAD_JAR names no file"}
    numbers = data.kind != "categorical"
    options: dict[str, Any] = {"fmt": "%.17g" if numbers else "%d", "delimiter": ","}
    np.savetxt(folder / "table.csv", data.values if numbers else data.codes, **options)
    arities = np.zeros(data.n, dtype=int) if numbers else data.cardinalities
    (folder / "arities").write_text(" ".join(map(str, arities)))
    command = [os.environ.get("JAVA", "java"), "-XX:+UseSerialGC", "-cp", os.path.abspath(jar)]
    try:
        _run([*command, str(_TETRAD), search, score], folder, limit)
    except FileNotFoundError:
        return {"missing": f"no {command[0]}"}
    seconds, *rows = (folder / "found").read_text().strip().splitlines()
    return {"seconds": float(seconds), "adjacency": [row.split() for row in rows]}


def _seconds_of_children() -> float:
    """CPU seconds of all processes that this one has started and that have ended."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def _run(command: list[str], folder: Path, limit: float) -> str:
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=limit, check=True
    )
    return done.stdout


OTHER_LANGUAGES: Mapping[str, Callable[[Dataset, str, Path, float], Answer]] = {
    "bnlearn hc": partial(bnlearn, "hc"),
    "bnlearn tabu": partial(bnlearn, "tabu"),
    "tetrad boss": partial(tetrad, "boss"),
    "tetrad fges": partial(tetrad, "fges"),
    "tetrad grasp": partial(tetrad, "grasp"),
    "xges in C++ (xges-0)": xges_program,
}
"""Name -> program."""


def answer_of(program: str, data: Dataset, score: str, limit: float) -> Answer:
    """What a program that maximises the score of this name found: `seconds` and `adjacency`, or
    `missing`, or a `note` why there is nothing; `limit` in seconds."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            return OTHER_LANGUAGES[program](data, score, Path(folder), limit)
        except subprocess.CalledProcessError as error:
            last = error.stderr.strip().splitlines()[-1:] or ["no message"]
            return {"note": f"failed: {last[0]}"}
