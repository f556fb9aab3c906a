"""The pages that `make docs` builds: what can be told without the minutes that building takes."""

from __future__ import annotations

import ast
import importlib.util
import io
import re
import shlex
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import typer
from docutils import nodes
from docutils.core import publish_doctree
from docutils.parsers.rst import roles

import fedbn

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(
    page
    for pattern in ("*.md", "docs/**/*.md", "simulations/**/*.md", "core/*.md", "deploy/*.md")
    for page in ROOT.glob(pattern)
    if DOCS / "generated" not in page.parents
)


def loaded(name: str) -> ModuleType:
    """A module of the docs folder, which is no package."""
    spec = importlib.util.spec_from_file_location(f"docs_{name}", DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def anchors(page: Path) -> set[str]:
    """Of its headings, as git hosts and MyST name them."""
    titles = re.findall(r"^#+ +(.+)$", page.read_text("utf-8"), flags=re.MULTILINE)
    plain = (re.sub(r"[^\w\- ]", "", title.lower()) for title in titles)
    return {title.strip().replace(" ", "-") for title in plain}


def links(page: Path) -> list[str]:
    found = re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8"))
    return [link for link in found if "://" not in link]


def test_every_link_between_pages_leads_to_a_file_and_a_heading() -> None:
    faults = []
    for page in PAGES:
        for link in links(page):
            path, _, anchor = link.partition("#")
            target = (page.parent / path) if path else page
            if not target.exists() or (anchor and anchor not in anchors(target)):
                faults.append(f"{page.relative_to(ROOT)}: {link}")
    assert sum(len(links(page)) for page in PAGES) > 100
    assert not faults


def toctree(page: Path) -> set[Path]:
    """The files that a page's navigation names."""
    entries = re.findall(r"```\{toctree\}\n(.*?)```", page.read_text("utf-8"), flags=re.DOTALL)
    names = [line for entry in entries for line in entry.splitlines() if line and line[0] != ":"]
    return {
        file.resolve() for name in names for file in page.parent.glob(f"{name}.*")
        if file.suffix in (".md", ".ipynb")
    }  # fmt: skip


def test_the_navigation_names_every_page() -> None:
    named = toctree(DOCS / "index.md") | toctree(DOCS / "decisions.md")
    pages = {*DOCS.rglob("*.md"), *DOCS.rglob("*.ipynb"), *ROOT.glob("*.md")}
    pages = {page for page in pages if DOCS / "generated" not in page.parents}
    assert pages - {DOCS / "index.md"} - named == set()


def test_the_interface_page_has_every_public_name_and_no_other() -> None:
    text = (DOCS / "api.md").read_text("utf-8")
    named = re.findall(r"\.\. auto\w+:: (\w+)", text)
    assert sorted(named) == sorted(set(fedbn.__all__) - {"__version__"})


def test_every_room_of_the_library_has_a_page() -> None:
    listed = set(re.findall(r"^   (fedbn\.\S+)$", (DOCS / "library.md").read_text("utf-8"), re.M))
    folder = ROOT / "fedbn"
    rooms = {".".join(file.parent.relative_to(ROOT).parts) for file in folder.rglob("__init__.py")}
    assert rooms - {"fedbn", "fedbn.networks.embedded"} <= listed
    assert all(importlib.util.find_spec(name) for name in listed)


@pytest.mark.slow
def test_every_public_docstring_becomes_restructured_text() -> None:
    docstrings = loaded("docstrings")
    roles.register_local_role("py:exc", lambda *_, **__: ([nodes.literal()], []))
    faults, count = [], 0
    for path in sorted((ROOT / "fedbn").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                continue
            name = getattr(node, "name", "")
            told = None if name.startswith("_") else ast.get_docstring(node)
            if told is None:
                continue
            count += 1
            wrong = io.StringIO()
            publish_doctree(
                "\n".join(docstrings.to_restructured(told.splitlines())),
                settings_overrides={"warning_stream": wrong, "report_level": 2},
            )
            if wrong.getvalue():
                faults.append(f"{path.relative_to(ROOT)} {name}: {wrong.getvalue()}")
    assert count > 1_000
    assert not faults


def test_a_docstring_of_this_house_as_restructured_text() -> None:
    told = """Count `rows_`, of *all* or |A|.

What counts:
- a row
  of two lines;
- another.

    key = 1

Parameters
----------
table, more : what `is
    counted` here.

Raises
------
DataError, SchemaError : it is
    empty.

Examples
--------
>>> 2 * 3
6"""
    made = "\n".join(loaded("docstrings").to_restructured(told.splitlines()))
    assert r"Count ``rows_``, of \*all\* or \|A\|." in made
    assert "What counts:\n\n- a row\n  of two lines;\n- another.\n" in made
    assert ".. rubric:: Parameters\n\n\n**table, more**\n    what" in made
    error = ":py:exc:`~fedbn.errors.{}`"
    both = f"{error.format('DataError')}, {error.format('SchemaError')}"
    assert f"{both}\n    it is\n    empty." in made
    assert ">>> 2 * 3\n6" in made


def commands(text: str) -> list[list[str]]:
    joined = text.replace("\\\n", " ")
    return [shlex.split(line) for line in joined.splitlines() if line.startswith("fedbn ")]


def parse(words: list[str]) -> None:
    """Raise what the command would say of its arguments; nothing runs."""
    from simulations.cli import app

    command: Any = typer.main.get_command(app)
    for place, word in enumerate(words[1:], start=2):
        command = command.commands[word]
        if not hasattr(command, "commands"):
            command.make_context(word, words[place:])
            return


def test_the_gallery_has_ten_small_pictures_and_a_command_under_each() -> None:
    pictures = loaded("gallery").pictures()
    files = {path.stem: path for path in (DOCS / "gallery").iterdir()}
    assert len(pictures) == 10
    assert {picture.name for picture in pictures} == set(files)
    assert sum(path.stat().st_size for path in files.values()) < 600_000
    for picture in pictures:
        if picture.language == "python":
            compile(picture.program, picture.name, "exec")
        else:
            assert commands(picture.program)
        for words in commands(picture.program) if picture.language == "bash" else ():
            parse(words)


@pytest.mark.slow
def test_every_call_beside_another_programs_call_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each code of the last column is a value, or a command."""
    text = (DOCS / "from-other-programs.md").read_text("utf-8")
    (program,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    rows = [re.split(r"(?<!\\) \| ", line) for line in text.splitlines() if line.startswith("| ")]
    calls = [code for row in rows for code in re.findall(r"`([^`]+)`", row[-1])]
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(program, names)
    names["frame"].to_csv("a.csv", index=False)
    names["write_bif"](names["network"], "asia.bif")
    assert len(calls) > 45
    for call in calls:
        if call.startswith("fedbn "):
            parse(shlex.split(call))
        else:
            eval(call, names)
    assert (tmp_path / "out.bif").is_file()


def test_a_page_that_loads_from_elsewhere_or_leads_nowhere_is_named(tmp_path: Path) -> None:
    faults = loaded("check_pages").faults
    (tmp_path / "own.css").write_text("a { background: url(data:image/png;base64,AA) }")
    page = tmp_path / "page.html"
    page.write_text(
        '<link rel="stylesheet" href="own.css"><link rel="canonical" href="https://x.org/page">'
        '<a href="https://x.org/">elsewhere</a><a href="page.html#top">here</a>'
    )
    assert list(faults(tmp_path)) == []
    page.write_text(
        '<script src="https://cdn.org/a.js"></script><style>@import "//fonts.org/b";</style>'
        '<a href="gone.html#top">gone</a><img src="own.css" srcset="https://x.org/i.png 2x">'
        '<p style="background: url(http://x.org/p.png)"><a href="/page.html">top</a>'
    )
    (tmp_path / "own.css").write_text("@font-face { src: url('https://fonts.org/f.woff2') }")
    assert list(faults(tmp_path)) == [
        "page.html loads https://cdn.org/a.js",
        "page.html loads //fonts.org/b",
        "page.html loads https://x.org/i.png",
        "page.html loads http://x.org/p.png",
        "page.html leads to gone.html#top, which is not there",
        "page.html leads to /page.html, which is not there",
        "own.css loads https://fonts.org/f.woff2",
    ]
