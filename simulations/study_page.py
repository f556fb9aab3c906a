"""A study's report as one page of HTML with its figures inside."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from html import escape
from pathlib import Path

from fedbn.errors import ResultsError
from fedbn.whole_file import replace_file
from simulations.study import Section, cell_text

__all__ = ["write_study_page"]

STYLE = """body{font:15px/1.5 sans-serif;max-width:75em;margin:2em auto;padding:0 1em}
table{border-collapse:collapse;font-size:13px}td,th{border:1px solid #ccc;padding:2px 7px}
div{overflow-x:auto}img{max-width:100%}"""


def write_study_page(folder: Path, title: str, sections: Sequence[Section]) -> Path:
    """Write `report.html` into the study's folder, whole or not at all, and return its path.

    Raises
    ------
    ResultsError : the folder cannot be written, or a figure is not there.
    """
    path = folder / "report.html"
    try:
        body = "".join(_section(section, folder) for section in sections)
        head = f"<meta charset='utf-8'><title>{escape(title)}</title><style>{STYLE}</style>"
        page = f"<!doctype html><html lang='en'><head>{head}</head><body><h1>{escape(title)}</h1>"
        replace_file(path, f"{page}{body}</body></html>\n")
    except OSError as error:
        raise ResultsError(f"{path} cannot be written: {error}") from error
    return path


def _section(section: Section, folder: Path) -> str:
    parts = [f"<h2>{escape(section.title)}</h2>"]
    if section.text:
        parts.append(f"<p>{escape(section.text)}</p>")
    if section.header:
        lines = [_line("th", section.header)]
        lines += [_line("td", [cell_text(value) for value in row]) for row in section.rows]
        parts.append(f"<div><table>{''.join(lines)}</table></div>")
    for name in section.figures:
        data = b64encode((folder / name).read_bytes()).decode()
        caption = f"<figcaption>{escape(name)}</figcaption>"
        image = f"<img alt='{escape(name)}' src='data:image/png;base64,{data}'>"
        parts.append(f"<figure>{image}{caption}</figure>")
    return "\n".join(parts)


def _line(tag: str, cells: Sequence[str]) -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"
