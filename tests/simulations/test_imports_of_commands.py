"""What short commands load: a command of milliseconds waits for its imports."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import fedbn_apps

HEAVY = {
    "cryptography",
    "fedbn.federation.site_file",
    "fedbn.privacy.ledger",
    "flwr",
    "importlib.metadata",
    "matplotlib",
    "networkx",
    "pandas",
    "pgmpy",
    "pyarrow",
    "ray",
    "scipy",
}
FUSION = {"fedbn.consensus.mcbnc", "fedbn.federation.fusions", "fedbn.fusion.minimal_imap"}
SUMS = {"fedbn.secure.requests", "fedbn.secure.path"}
SHOWN = {"rich"}
LEARNING = {"fedbn._core", "fedbn.search.ges"}
SCRIPT = """
import json, sys
from simulations.cli import main
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
json.dump(sorted(sys.modules), sys.stderr)
"""


def loaded(*arguments: object) -> set[str]:
    """The modules of a process at the end of a command."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(json.loads(done.stderr.splitlines()[-1]))


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    table = tmp_path_factory.mktemp("table") / "table.csv"
    table.write_text("a,b\n" + "0,0\n1,1\n" * 20)
    return table


def test_the_modules_of_ours_that_are_not_to_be_loaded_exist() -> None:
    names = HEAVY | FUSION | SUMS | LEARNING
    assert all(find_spec(name) for name in names if name.startswith("fedbn"))


def test_learn_loads_no_library_that_it_has_no_use_for(table: Path) -> None:
    modules = loaded("learn", table, "--quiet")
    assert modules >= LEARNING
    assert not modules & (HEAVY | FUSION | SUMS | SHOWN)


def test_learn_reads_a_large_table_by_pyarrow(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text("a,b\n" + "0,0\n1,1\n" * (1 << 18))
    modules = loaded("learn", table, "--quiet")
    assert modules >= LEARNING | {"pyarrow"}
    assert not modules & (HEAVY - {"pyarrow"} | {"pyarrow.parquet"} | FUSION | SUMS | SHOWN)


def test_the_help_of_learn_loads_nothing_that_learns(table: Path) -> None:
    modules = loaded("learn", "--help")
    assert "fedbn.learners.table" in modules
    assert not modules & (HEAVY | FUSION | SUMS | LEARNING)


def test_fuse_loads_neither_what_reads_tables_nor_what_draws(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.json").write_text('{"nodes": ["a", "b"], "edges": [["a", "b"]]}')
    modules = loaded("fuse", tmp_path / "one.json", tmp_path / "two.json", "--json")
    assert modules >= {"fedbn._core", "fedbn.consensus.mcbnc"}
    assert not modules & (HEAVY | SUMS | SHOWN | (LEARNING - {"fedbn._core"}))


def test_the_version_loads_no_command() -> None:
    modules = loaded("--version")
    assert not modules & ({"numpy", "simulations.commands"} | HEAVY | SHOWN)
    assert {name for name in modules if name.startswith("simulations.cli.")} == {
        "simulations.cli.command_line",
        "simulations.cli.command_table",
    }


@pytest.mark.parametrize(("given", "threads"), [(None, "1"), ("4", "4")])
def test_linear_algebra_has_one_thread_unless_the_environment_says_otherwise(
    monkeypatch: pytest.MonkeyPatch, given: str | None, threads: str
) -> None:
    environment = {"OPENBLAS_NUM_THREADS": given} if given else {}
    monkeypatch.setattr(os, "environ", environment)
    found: list[str] = []
    monkeypatch.setattr(
        "simulations.cli.main", lambda: found.append(os.environ["OPENBLAS_NUM_THREADS"])
    )
    monkeypatch.setattr(sys, "path", [*sys.path])
    fedbn_apps.main()
    assert found == [threads]
