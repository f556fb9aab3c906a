"""Docstrings of this house as reStructuredText, which Sphinx reads.

They follow NumPy's sections with one difference: after `name : ` comes a sentence and no type,
which the signature has. Text is plain, with `code` between single backticks and lists, as in
Markdown.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import Any

import fedbn.errors

__all__ = ["process", "to_restructured"]

_FIELDS = ("Parameters", "Attributes", "Raises", "Warns")
_SECTIONS = (*_FIELDS, "Returns", "Yields", "Examples", "Notes", "References")
_ITEM = re.compile(r"([-*]|\d+\.) +")


def process(app: Any, what: str, name: str, subject: Any, options: Any, lines: list[str]) -> None:
    """Sphinx calls this for each docstring; `lines` is changed in place."""
    lines[:] = to_restructured(lines)


def to_restructured(lines: Sequence[str]) -> list[str]:
    """The same text as reStructuredText."""
    made: list[str] = []
    for title, body in _sections(lines):
        if title is not None:
            made += [f".. rubric:: {title}", ""]
        made += _entries(body) if title in _FIELDS else _text(body)
    return made


def _sections(lines: Sequence[str]) -> Iterator[tuple[str | None, list[str]]]:
    """Title, None before the first, and lines of each section."""
    title, body = None, list[str]()
    for line, after in itertools.pairwise([*lines, ""]):
        if line in _SECTIONS and re.fullmatch("-{3,}", after):
            yield title, body
            title, body = line, []
        elif body or title is None or not re.fullmatch("-{3,}", line):
            body.append(line)
    yield title, body


def _entries(body: Sequence[str]) -> list[str]:
    """`names : what they are` as a list of definitions."""
    made: list[str] = []
    for hanging, lines in itertools.groupby(body, key=lambda line: not line or line[0] == " "):
        if hanging:
            made += [f"    {line.strip()}" if line else "" for line in _inline(list(lines))]
            continue
        for line in lines:
            names, _, told = line.partition(" : ")
            made += ["", _term(names), *(f"    {text}" for text in _inline([told]) if told)]
    return [*made, ""]


def _term(names: str) -> str:
    each = names.split(", ")
    if all(isinstance(getattr(fedbn.errors, name, None), type) for name in each):
        return ", ".join(f":py:exc:`~fedbn.errors.{name}`" for name in each)
    return f"**{_escape(names)}**"


def _text(body: Sequence[str]) -> list[str]:
    """Paragraphs, lists and examples; an indented block is shown as it is."""
    made: list[str] = []
    kind = "text"
    for empty, lines in itertools.groupby(body, key=lambda line: not line.strip()):
        if empty:
            continue
        chunk = list(lines)
        before, kind = kind, _kind(chunk)
        if kind == "block" and before == "list":
            kind = "list"
            made += [f"  {line.strip()}" for line in _inline(chunk)]
        elif kind == "block":
            made += [*([] if before == "block" else ["::", ""]), *chunk]
        else:
            made += {"example": list, "text": _inline, "list": _list}[kind](chunk)
        made.append("")
    return made


def _kind(chunk: Sequence[str]) -> str:
    """What lines without an empty one between them are."""
    if chunk[0].startswith(">>>"):
        return "example"
    indented = [line.startswith(" ") for line in chunk]
    if all(indented):
        return "block"
    return "list" if any(indented) or any(map(_ITEM.match, chunk)) else "text"


def _list(chunk: Sequence[str]) -> list[str]:
    """Items, and lines before and after them; where no mark begins them, the first indent does."""
    marked = any(map(_ITEM.match, chunk))
    made: list[str] = []
    within = False
    for line, begins in ((each, _begins(each, marked)) for each in chunk):
        if begins != within and not line.startswith(" "):
            made.append("")
            within = begins
        plain = re.sub(_ITEM, "", line, count=1) if begins else line.strip()
        made.append(("- " if begins else "  " if within else "") + plain)
    return _inline(made)


def _begins(line: str, marked: bool) -> bool:
    return bool(_ITEM.match(line)) if marked else not line.startswith(" ")


def _inline(lines: Sequence[str]) -> list[str]:
    """`code` as code, also over the end of a line; all else as text."""
    parts = "\n".join(lines).split("`")
    if len(parts) % 2 == 0:
        return [_escape(line) for line in lines]
    text = "".join(f"``{part}``" if k % 2 else _escape(part) for k, part in enumerate(parts))
    return text.split("\n")


def _escape(text: str) -> str:
    return re.sub(r"([\\*|`]|_(?=\W|$))", r"\\\1", text)
