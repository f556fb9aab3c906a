"""A study's report as one page of HTML, in the style of a run's report, with its figures inside."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from html import escape
from pathlib import Path

from fedbn.errors import ResultsError
from fedbn.results.page.html import page_of
from fedbn.results.page.tables import page_table
from fedbn.whole_file import replace_file
from fedbn.wording import reason_of
from simulations.study import Section, cell_text

__all__ = ["write_study_page"]


def write_study_page(folder: Path, title: str, sections: Sequence[Section]) -> Path:
    """Write `report.html` into the study's folder, whole or not at all, and return its path.

    Raises
    ------
    ResultsError : the folder cannot be written, or a figure is not there.
    """
    path = folder / "report.html"
    try:
        contents = "".join(
            f'<li><a href="#part-{k}">{escape(section.title)}</a></li>'
            for k, section in enumerate(sections)
        )
        parts = "".join(_section(k, section, folder) for k, section in enumerate(sections))
        head = f"<header><p class='kind'>fedbn study</p><h1>{escape(title)}</h1></header>"
        body = f"{head}<main><nav><ol>{contents}</ol></nav>{parts}</main>"
        replace_file(path, page_of(title, body))
    except OSError as error:
        raise ResultsError(f"{path} cannot be written: {reason_of(error)}") from error
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
