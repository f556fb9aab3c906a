"""Search programs in R and C++ on one table, for `simulations.benchmarks.search`.

bnlearn is run by `Rscript`, or by the one that the environment's RSCRIPT names. The C++ program of
XGES is the one that XGES_PROGRAM names; its authors' sources say how it is built (their repository
is named in docs/studies/ges.md), g++ -O2 here. Both tell their own seconds: R the CPU time of the
search, the C++ program the wall time of its search, its covariance not included.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from fedbn.data.dataset import Dataset

__all__ = ["OTHER_LANGUAGES", "answer_of"]

_BNLEARN = """
suppressMessages(library(bnlearn))
given <- commandArgs(TRUE)
arities <- scan("arities", quiet = TRUE)
table <- read.csv("table.csv")
for (i in seq_along(table)) table[[i]] <- factor(table[[i]], levels = 0:(arities[i] - 1))
began <- proc.time()
found <- get(given[1])(table, score = "bde", iss = 1)
spent <- proc.time() - began
cat(spent[["user.self"]] + spent[["sys.self"]], "\\n")
write.table(amat(found) * 1, row.names = FALSE, col.names = FALSE)
"""
"""Argument: hc or tabu; prints CPU seconds and the matrix of the DAG."""

Answer = dict[str, Any]


def bnlearn(search: str, data: Dataset, folder: Path, limit: float) -> Answer:
    """bnlearn's `hc` or `tabu` with BDeu, iss 1, its other settings as they are."""
    rscript = os.environ.get("RSCRIPT", "Rscript")
    names = ",".join(f"v{i}" for i in range(data.n))
    options: dict[str, Any] = {"fmt": "%d", "delimiter": ",", "header": names, "comments": ""}
    np.savetxt(folder / "table.csv", data.codes, **options)
    (folder / "arities").write_text(" ".join(map(str, data.cardinalities)))
    (folder / "search.R").write_text(_BNLEARN)
    try:
        printed = _run([rscript, "search.R", search], folder, limit)
    except FileNotFoundError:
        return {"missing": f"no {rscript}"}
    except subprocess.CalledProcessError as error:
        if "there is no package" in error.stderr:
            return {"missing": "R has no package bnlearn"}
        raise
    seconds, *rows = printed.strip().splitlines()
    return {"seconds": float(seconds), "adjacency": [row.split() for row in rows]}


def xges_program(data: Dataset, folder: Path, limit: float) -> Answer:
    """The C++ program of the authors of XGES in its XGES-0 form, with the penalty of BIC."""
    program = os.environ.get("XGES_PROGRAM", "")
    if not os.access(program, os.X_OK):
        return {"missing": "XGES_PROGRAM names no program"}
    np.save(folder / "table.npy", np.ascontiguousarray(data.values))
    files = ["--input", "table.npy", "--output", "graph", "--stats", "stats"]
    _run([program, *files, "--alpha", "1", "--xges0", "--verbose", "0"], folder, limit)
    stats = dict(line.split(", ") for line in (folder / "stats").read_text().splitlines())
    rows = (folder / "graph").read_text().splitlines()[1:]  # the first has the names
    return {"seconds": float(stats["time"]), "adjacency": [row.split(", ") for row in rows]}


def _run(command: list[str], folder: Path, limit: float) -> str:
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=limit, check=True
    )
    return done.stdout


OTHER_LANGUAGES: Mapping[str, Callable[[Dataset, Path, float], Answer]] = {
    "bnlearn hc": partial(bnlearn, "hc"),
    "bnlearn tabu": partial(bnlearn, "tabu"),
    "xges in C++ (xges-0)": xges_program,
}
"""Name -> program."""


def answer_of(program: str, data: Dataset, limit: float) -> Answer:
    """What a program found: `seconds` and `adjacency`, or `missing`, or a `note` why there is
    nothing; `limit` in seconds."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            return OTHER_LANGUAGES[program](data, Path(folder), limit)
        except subprocess.CalledProcessError as error:
            last = error.stderr.strip().splitlines()[-1:] or ["no message"]
            return {"note": f"failed: {last[0]}"}
