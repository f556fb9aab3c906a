"""The programs of `simulations.benchmarks.search`, on one table: fedbn's own and the others.

`Sample` is the table; every structure found is scored by fedbn with one and the same score. A peer
in Python is run by the first interpreter that has it (`peers.py`), others as `other_languages.py`
says.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from fedbn.data.dataset import Dataset
from fedbn.errors import ConfigError, StructureError
from fedbn.graphs.dag import DAG
from fedbn.graphs.distances import shd
from fedbn.graphs.pdag import PDAG, consistent_extension, dag_to_cpdag
from fedbn.networks.catalog import load_network
from fedbn.scores import SCORES, TabulatedScore, make_score, total_score
from fedbn.search.boss import boss
from fedbn.search.ges import ges
from fedbn.search.hill_climbing import hill_climbing
from fedbn.search.iterated_local_search import iterated_local_search
from fedbn.search.xges import xges, xges0
from simulations.benchmarks.other_languages import OTHER_LANGUAGES, answer_of
from simulations.benchmarks.search_report import ILS, REFERENCE

OWN: dict[str, Callable[[TabulatedScore], DAG]] = {
    REFERENCE: lambda score: ges(score).dag,
    "fedbn ges, turning": lambda score: ges(score, turning=True, repeat=True).dag,
    "fedbn xges0": lambda score: xges0(score).dag,
    "fedbn xges": lambda score: xges(score).dag,
    ILS: lambda score: iterated_local_search(score, rng=np.random.default_rng(1)).dag,
    "fedbn boss": lambda score: boss(score, rng=np.random.default_rng(1)).dag,
    "fedbn hill climbing": lambda score: hill_climbing(score).dag,
}
_ON_CATEGORIES = (
    "pgmpy hill climbing",
    "bnlearn hc",
    "bnlearn tabu",
    "pyagrum hill climbing",
    "pyagrum tabu",
    "tetrad boss",
    "tetrad fges",
    "tetrad grasp",
)
PEERS = {
    "bdeu": (
        "causal-learn ges (bdeu, prior)",
        "causal-learn ges (bdeu, prior), vectorised",
        *_ON_CATEGORIES,
    ),
    "bic": _ON_CATEGORIES,
    "gaussian-bic": (
        "causal-learn ges",
        "causal-learn boss",
        "causal-learn grasp",
        "ges",
        "tetrad boss",
        "tetrad fges",
        "tetrad grasp",
        "xges (xges-0)",
        "xges in C++ (xges-0)",
    ),
}
"""By score. causal-learn has no BIC of categories."""
TOO_LONG = "more than"
_MISSING = "not installed"
_PEER_SETTINGS = {"PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
"""Unless the environment has others."""
_PEERS_FILE = Path(__file__).with_name("peers.py")


@dataclass(frozen=True)
class Sample:
    """A table drawn from a network."""

    truth: DAG
    data: Dataset
    score: TabulatedScore


@lru_cache(maxsize=1)
def sample_of(
    network: str, folder: str | None, rows: int, sample: int, seed: int, score: str
) -> Sample:
    """The table; {sample} in the network's name is replaced by the number of the sample."""
    truth = load_network(network.replace("{sample}", str(sample)), folder)
    data = truth.sample(rows, np.random.default_rng([seed, sample]))
    return Sample(truth.dag, data, make_score(score, data))


def own_result(sample: Sample, program: str, score: str) -> dict[str, Any]:
    """One of fedbn's searches, warm; preparing the score counts."""
    small = load_network("asia" if SCORES[score].kind == "categorical" else "random-gaussian:5:4")
    search = OWN[program]
    search(make_score(score, small.sample(50, np.random.default_rng(0))))
    began = time.process_time()
    found = search(make_score(score, sample.data))
    return {"seconds": time.process_time() - began} | _known_facts(sample, found)


def _known_facts(sample: Sample, dag: DAG) -> dict[str, Any]:
    return {
        "score": total_score(sample.score, dag),
        "shd": shd(dag, sample.truth),
        "cpdag": np.argwhere(dag_to_cpdag(dag).adjacency).tolist(),
    }


def peer_result(
    sample: Sample, program: str, score: str, pythons: Sequence[str], limit: float
) -> dict[str, Any]:
    """Another program that maximises the score of this name, by the first interpreter that has it;
    a note if none has, or it failed."""
    found: dict[str, Any] = {}
    for python in pythons:
        try:
            found = _facts_of(sample, _answer(sample, program, score, python, limit))
        except subprocess.TimeoutExpired:
            return {"note": f"{TOO_LONG} {limit:g} s"}
        if not found.get("note", "").startswith(_MISSING):
            break
    return found


def _answer(sample: Sample, program: str, score: str, python: str, limit: float) -> dict[str, Any]:
    """`seconds` and `adjacency` of a program, or `missing`, or a `note` why there is nothing."""
    if program in OTHER_LANGUAGES:
        return answer_of(program, sample.data, score, limit)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.npz"
        np.savez(path, table=sample.data.table, arities=_arities(sample.data))
        try:
            done = subprocess.run(
                [python, str(_PEERS_FILE), program, str(path), score],
                capture_output=True,
                text=True,
                timeout=limit,
                check=False,
                env=_PEER_SETTINGS | os.environ,
            )
        except OSError as error:
            raise ConfigError(f"{python} cannot be run: {error.strerror}") from error
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:] or ["no message"]
        return {"note": f"failed: {last[0]}"}
    answer: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return answer


def _arities(data: Dataset) -> np.ndarray:
    return data.cardinalities if data.kind == "categorical" else np.zeros(0, dtype=np.int64)


def _facts_of(sample: Sample, answer: dict[str, Any]) -> dict[str, Any]:
    """What the table says of an answer."""
    if "missing" in answer:
        return {"note": f"{_MISSING}: {answer['missing']}"}
    if "note" in answer:
        return answer
    found = PDAG(sample.data.names, np.array(answer["adjacency"], dtype=np.int64) == 1)
    try:
        return {"seconds": answer["seconds"]} | _known_facts(sample, consistent_extension(found))
    except StructureError:
        return {"seconds": answer["seconds"], "note": "its graph has no DAG extension"}


def chosen_own(asked: str | None) -> list[str]:
    """fedbn's searches in their order: all, or those asked for by semicolons, and GES.

    Raises
    ------
    ConfigError : one is not among them.
    """
    if asked is None:
        return list(OWN)
    named = {REFERENCE, *(program.strip() for program in asked.split(";"))}
    if unknown := sorted(named - set(OWN)):
        raise ConfigError(f"no search {unknown[0]!r} of fedbn; there are {tuple(OWN)}")
    return [program for program in OWN if program in named]


def chosen_peers(asked: str | None, score: str, samples: int) -> dict[str, int]:
    """The other programs for a score, each with the number of samples that it gets.

    Parameters
    ----------
    asked : some of them by semicolons, a ":" and a number after those that get fewer samples; or
        None for all of them.

    Raises
    ------
    ConfigError : a program is not one of those for this score, or its number is none.
    """
    known = PEERS.get(score, ())
    if asked is None:
        return dict.fromkeys(known, samples)
    chosen = {}
    for entry in asked.split(";"):
        program, colon, number = (part.strip() for part in entry.partition(":"))
        if program not in known:
            raise ConfigError(f"no program {program!r} for {score}; there are {known}")
        if colon and not (number.isdecimal() and int(number) > 0):
            raise ConfigError(f"{program} needs a number of samples of at least 1, not {number!r}")
        chosen[program] = min(int(number), samples) if colon else samples
    return chosen
