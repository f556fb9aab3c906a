"""What the docs folder runs: the notebook's twin, and the commands of pages."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from fedbn.federation.policy import SitePolicy
from fedbn.setting import settings_of
from simulations.cli import app
from tests.warm import run_warm

ROOT = Path(__file__).resolve().parent.parent


def run(*command: object) -> str:
    done = subprocess.run(
        [sys.executable, *map(str, command)], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Warning" not in done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_notebook_runs() -> None:
    told = run("docs/notebook.py")
    assert "Table(1000 rows, 8 categorical columns)" in told
    for result in ("Learned(xges: 8 nodes", "Fused(3 sites", "Credible(", "Simulated(3 sites"):
        assert result in told


@pytest.mark.slow
@pytest.mark.parametrize("page", ["tables-and-questions", "privacy", "sweeps"])
def test_the_commands_of_a_page_run_as_they_stand_in_an_empty_folder(
    page: str, tmp_path: Path
) -> None:
    """The report's page begins with a run of alarm: its commands are run by other tests."""
    text = (ROOT / "docs" / f"{page}.md").read_text("utf-8")
    (script,) = re.findall(r"```bash\n(.*?)```", text, flags=re.DOTALL)
    done = run_warm(["bash", "-ec", script], tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    last = {
        "tables-and-questions": "  income     high ",
        "privacy": "runs of the bound",
        "sweeps": '"run": 0',
    }[page]
    assert last in done.stdout


@pytest.mark.slow
def test_the_guide_to_plug_ins_runs(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "plugins.md").read_text("utf-8")
    script = tmp_path / "guide.py"
    script.write_text("\n".join(re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)))
    told = run(script)
    assert "Learned(hub: 8 nodes, 7 edges" in told
    assert "Simulated(3 sites: 8 nodes, 7 edges" in told
    assert "Learned(hub: 8 nodes, 2 edges" in told


def _options_of(command: Any, words: str) -> set[str] | None:
    """The options of the command that a line begins with; None where it is no command."""
    for word in words.split():
        if not hasattr(command, "commands"):
            break
        command = command.commands.get(word)
        if command is None:
            return None
    return {flag for each in command.params for flag in (*each.opts, *each.secondary_opts)}


def test_every_option_that_the_pages_name_is_there() -> None:
    """Those of plug-ins are there only where the plug-in is installed."""
    whole = typer.main.get_command(app)
    pages = [*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md"), *(ROOT / "deploy").glob("*.md")]
    named, unknown = 0, []
    for page in pages:
        if "generated" in page.parts or page.name == "plugins.md":
            continue
        text = page.read_text("utf-8").replace("\\\n", " ")
        for line in re.findall(r"fedbn ([a-z][^`\n|#;]*)", text):
            options = _options_of(whole, line)
            for option in re.findall(r"(?<![\w-])--[a-z][a-z-]*", line) if options else ():
                named += 1
                if option not in {*(options or ()), "--help"}:
                    unknown.append(f"{page.name}: fedbn {line.split()[0]} {option}")
    assert unknown == []
    assert named > 200


def test_the_guide_names_the_defaults_of_a_policy() -> None:
    guide = (ROOT / "docs" / "deployment.md").read_text("utf-8")
    block = guide[guide.index("\n[policy]\nmin-rows") : guide.index("\n[offers] ")]
    lines = re.findall(r"^([\w-]+) = .*?(?:default (\S+))?$", block, flags=re.MULTILINE)
    known = {each.key: each.default for each in settings_of(SitePolicy)}
    assert len(lines) == 21
    for key, told in lines:
        usual = known[key]
        wanted = "" if usual in (None, ()) else str(usual).lower()
        assert told.strip('"') == wanted, key


def test_the_index_names_every_page() -> None:
    docs = ROOT / "docs"
    links = re.findall(r"\]\(([^)]+)\)", (docs / "README.md").read_text("utf-8"))
    assert all((docs / link).is_file() for link in links)
    pages = {str(page.relative_to(docs)) for page in docs.rglob("*.md")}
    assert pages - {"README.md", "index.md"} <= set(links)


def test_the_design_page_names_every_room_and_nothing_else() -> None:
    design = (ROOT / "docs" / "design.md").read_text("utf-8")
    named = {
        name.rstrip("/")
        for name in re.findall(r"`((?:fedbn|clients|server|simulations|tests)/[^`*]*)`", design)
    }
    assert [name for name in named if not (ROOT / name).exists()] == []
    houses = [ROOT / name for name in ("fedbn", "clients", "server", "simulations")]
    modules = {path for house in houses for path in house.glob("*.py")}
    rooms = {path.parent for house in houses for path in house.rglob("__init__.py")}
    everything = {str(path.relative_to(ROOT)) for path in {*modules, *rooms}}
    unsaid = {
        "fedbn",
        "fedbn/networks/embedded",
        *(f"{house.name}/__init__.py" for house in houses),
    }
    unsaid |= {"simulations/benchmarks/consensus"}  # a benchmark in several modules
    assert sorted(everything - unsaid - named) == []
