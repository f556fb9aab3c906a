"""A study's report: Markdown, and one page of HTML in the style of a run's, figures inside."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from fedbn.errors import ResultsError, system_errors_as
from fedbn.results.page.html import page_of
from fedbn.results.page.tables import page_table
from fedbn.whole_file import replace_file, write_whole


@dataclass(frozen=True)
class Section:
    """One part of a report: words, a table (header and rows), figures (files in the folder)."""

    title: str
    text: str = ""
    header: Sequence[str] = ()
    rows: Sequence[Sequence[object]] = ()
    figures: Sequence[str] = ()


def write_study_report(folder: Path, title: str, sections: Sequence[Section]) -> Path:
    """Write `report.md` and `report.html` into the study's folder; return the path of the first.

    Each is written whole or not at all.

    Raises
    ------
    ResultsError : the folder cannot be written, or a figure is not there.
    """
    write_study_page(folder, title, sections)
    lines = [f"# {title}", ""]
    for section in sections:
        lines += [f"## {section.title}", "", *([section.text, ""] if section.text else [])]
        if section.header:
            lines += [_line(section.header), _line(["---"] * len(section.header))]
            lines += [*(_line([cell_text(value) for value in row]) for row in section.rows), ""]
        for figure in section.figures:
            lines += [f"![{section.title}]({figure})", ""]
    path = folder / "report.md"
    write_whole(path, "\n".join(lines))
    return path


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def cell_text(value: object) -> str:
    """A value for a reader: four significant digits or two decimals, "-" for what is not known."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1000 else f"{value:,.2f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def write_study_page(folder: Path, title: str, sections: Sequence[Section]) -> Path:
    """Write `report.html` into the study's folder, whole or not at all, and return its path.

    Raises
    ------
    ResultsError : the folder cannot be written, or a figure is not there.
    """
    path = folder / "report.html"
    with system_errors_as(ResultsError, f"{path} cannot be written"):
        contents = "".join(
            f'<li><a href="#part-{k}">{escape(section.title)}</a></li>'
            for k, section in enumerate(sections)
        )
        parts = "".join(_section(k, section, folder) for k, section in enumerate(sections))
        head = f"<header><p class='kind'>fedbn study</p><h1>{escape(title)}</h1></header>"
        body = f"{head}<main><nav><ol>{contents}</ol></nav>{parts}</main>"
        replace_file(path, page_of(title, body))
    return path


def _section(place: int, section: Section, folder: Path) -> str:
    parts = [f'<section id="part-{place}"><h2>{escape(section.title)}</h2>']
    if section.text:
        parts.append(f"<p>{escape(section.text)}</p>")
    if section.header:
        rows = [[cell_text(value) for value in row] for row in section.rows]
        parts.append(page_table([str(cell) for cell in section.header], rows))
    for name in section.figures:
        data = b64encode((folder / name).read_bytes()).decode()
        caption = f"<figcaption>{escape(name)}</figcaption>"
        image = f'<img alt="{escape(name)}" src="data:image/png;base64,{data}">'
        parts.append(f"<figure>{image}{caption}</figure>")
    return "\n".join([*parts, "</section>"])
