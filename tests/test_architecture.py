"""The house rules that a machine can hold: imports go one way, importing is cheap."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import PLACES

ROOT = Path(__file__).resolve().parent.parent


def test_import_contracts() -> None:
    linter = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([linter, "--no-cache"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def modules_after(statement: str) -> set[str]:
    program = f"{statement}; import sys, json; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return {name.split(".")[0] for name in json.loads(done.stdout)}


def test_what_bundles_of_simulations_hold_imports_nothing_else_of_simulations() -> None:
    room = ROOT / "simulations" / "sites"
    imported = {
        node.module
        for path in room.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("simulations")
    }
    assert "simulations.sites.request" in imported
    assert all(module.startswith("simulations.sites.") for module in imported)


@pytest.mark.parametrize(
    "module",
    [
        "fedbn",
        "fedbn.federation.rounds",
        "fedbn.consensus.mcbnc",
        "fedbn.search.ges",
        "fedbn.data.tables",
    ],
)
def test_the_library_loads_neither_flower_nor_ray_nor_pgmpy(module: str) -> None:
    loaded = modules_after(f"import {module}")
    assert not loaded & {"flwr", "ray", "pgmpy", "torch"}


def test_help_loads_no_heavy_library() -> None:
    loaded = modules_after("import simulations.cli")
    assert not loaded & {"flwr", "ray", "pgmpy", "matplotlib", "pandas"}


def test_who_learns_from_rows_in_memory_loads_no_library_that_reads_files() -> None:
    loaded = modules_after(
        "import numpy as np; rng = np.random.default_rng(0); "
        "from fedbn.networks.catalog import load_network; "
        "from fedbn.learners import LearnerSettings, learn; "
        "learn(load_network('asia').sample(100, rng), LearnerSettings(), rng)"
    )
    assert "fedbn" in loaded
    assert not loaded & {"flwr", "pandas", "pyarrow", "scipy", "typer"}


def test_what_derives_from_the_settings_is_up_to_date() -> None:
    tool = ROOT / "tools" / "write_settings.py"
    done = subprocess.run([sys.executable, tool, "--check"], cwd=ROOT, capture_output=True)
    assert done.returncode == 0, "run python tools/write_settings.py"


PYTHON = sorted(
    path
    for folder in ("fedbn", "clients", "server", "simulations")
    for path in (ROOT / folder).rglob("*.py")
)


def test_the_files_that_come_first_are_there() -> None:
    assert [path for path in PLACES if not path.is_file()] == []


def test_arrays_are_named_in_one_module() -> None:
    """A name for a kind of array at the top of any other module would be a second one."""
    others = [path for path in PYTHON if path != ROOT / "fedbn" / "arrays.py"]
    named = [
        f"{path.relative_to(ROOT)}: {ast.unparse(node)}"
        for path in others
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.Assign)
        and re.match(r"(np\w*\.)*NDArray\[", ast.unparse(node.value))
    ]
    assert len(others) > 300
    assert not named, "name it in fedbn/arrays.py"


def test_functions_are_named_by_verbs_or_nouns() -> None:
    """No function is a lone participle: move, solve, learn, not moved, solved, learned."""
    irregular = {"begun", "chosen", "driven", "found", "frozen", "given", "grown", "held", "hidden"}
    irregular |= {"made", "sent", "shaken", "shown", "taken", "told", "written"}
    verbs_in_ed = {"embed", "feed", "need", "seed", "speed"}
    functions = [
        (path, node)
        for path in PYTHON
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and not _is_property(node)
    ]
    participles = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for path, node in functions
        if (word := node.name.strip("_")) in irregular
        or (word.endswith("ed") and "_" not in word and word not in verbs_in_ed)
    ]
    assert len(functions) > 2_000
    assert not participles, participles


def _is_property(function: ast.FunctionDef) -> bool:
    """Whether it is read like a value: a state such as `done` or `stopped`."""
    return any("property" in ast.unparse(each) for each in function.decorator_list)
