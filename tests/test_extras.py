"""Optional parts: a missing one is one line that names its extra."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedbn import extras
from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema
from fedbn.errors import MissingExtraError
from fedbn.learners import LearnerSettings, learn
from tests.simulations.conftest import Fedbn, fedbn  # noqa: F401

PROJECT = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text("utf-8"))


@pytest.fixture
def nothing_optional(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: None)


def test_every_extra_is_one_of_the_project() -> None:
    optional = PROJECT["project"]["optional-dependencies"]
    for module, extra in extras.EXTRAS.items():
        assert any(
            module in requirement.lower() or f"[{extra}]" in requirement
            for requirement in optional[extra]
        )
        assert extra in optional["all"][0]


def test_an_unknown_name_is_no_extra() -> None:
    with pytest.raises(ImportError, match="cannot import name 'numpyy'"):
        from fedbn.extras import numpyy  # noqa: F401


@pytest.mark.usefixtures("nothing_optional")
def test_what_needs_an_extra_names_it() -> None:
    with pytest.raises(MissingExtraError, match=r"needs highspy.*pip install 'fedbn\[exact\]'"):
        from fedbn.extras import highspy  # noqa: F401
    with pytest.raises(MissingExtraError, match=r"needs ray.*pip install 'fedbn\[simulation\]'"):
        extras.require_installed("ray")


@pytest.mark.usefixtures("nothing_optional")
def test_greedy_searches_need_none() -> None:
    schema = Schema.categorical({"a": ("0", "1"), "b": ("0", "1")})
    codes = np.array([[0, 0], [1, 1]] * 20, dtype=np.int32)
    found = learn(Dataset(schema, codes), LearnerSettings(learner="hc"), np.random.default_rng(0))
    assert found.dags[0].n_edges == 1


@pytest.mark.usefixtures("nothing_optional")
def test_the_default_engine_says_what_it_needs(fedbn: Fedbn, tmp_path: Path) -> None:  # noqa: F811
    made: dict[str, Any] = {"network": "asia", "clients": 2, "rows": 20}
    options = [text for key, value in made.items() for text in (f"--{key}", value)]
    error = fedbn("simulate", *options, "--out", tmp_path / "out", "-q").error
    assert "fedbn[simulation]" in error
    assert not (tmp_path / "out").exists()


WITHOUT = """
import sys
for name in ("flwr", "ray", "grpc", "cryptography", "pgmpy", "highspy", "pyscipopt"):
    sys.modules[name] = None
import fedbn
from simulations.cli import main
main(sys.argv[1:])
"""


@pytest.mark.slow
def test_tables_structures_and_questions_need_no_extra(tmp_path: Path) -> None:
    def without_extras(*words: str) -> subprocess.CompletedProcess[str]:
        script = f"import sys; sys.path.insert(0, {str(Path(__file__).parent.parent)!r}){WITHOUT}"
        command = [sys.executable, "-c", script, *words]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)

    for line in (
        "sample asia --rows 100 --seed 1 --out a.csv",
        "inspect a.csv",
        "learn a.csv --out a.json",
        "credible a.csv --bf 3",
        "fuse a.json a.json --out fused",
        "compare a.json asia",
        "query asia --ask lung --given smoke=yes",
    ):
        done = without_extras(*line.split())
        assert done.returncode == 0, done.stderr
    refused = without_extras("simulate", "--network", "asia", "--engine", "in-process")
    assert refused.returncode == 1
    needs, how = "fedbn: error: this needs (flwr|cryptography), ", "pip install 'fedbn[flower]'"
    *_, last = refused.stderr.splitlines()  # a slow machine is told what it waits for
    assert re.fullmatch(f"{needs}which is not installed: {re.escape(how)}", last)
