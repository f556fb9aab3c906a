"""The report's two files in a results folder: `report.json`, its content, and `report.html`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fedbn.errors import ResultsError
from fedbn.results.page.content import FORMAT
from fedbn.results.page.html import page_html
from fedbn.results.page.public import public_content
from fedbn.whole_file import write_whole

__all__ = ["CONTENT_FILE", "PAGE_FILE", "PUBLIC_FILE", "read_content", "write_page", "write_report"]

CONTENT_FILE, PAGE_FILE, PUBLIC_FILE = "report.json", "report.html", "report-public.html"


def write_page(content: Mapping[str, Any], place: Path) -> None:
    """Both files, into a folder that is being made."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n"
    (place / CONTENT_FILE).write_bytes(text.encode("utf-8"))
    (place / PAGE_FILE).write_bytes(page_html(content).encode("utf-8"))


def write_report(folder: Path, out: Path | None = None, *, public: bool = False) -> Path:
    """Write the page of a results folder anew, and return its path.

    Parameters
    ----------
    out : the file; in the folder by default.
    public : the page for the public instead, see `public`.

    Raises
    ------
    ResultsError : the folder has no report's content, or the page cannot be written.
    """
    content = read_content(folder)
    file = out or folder / (PUBLIC_FILE if public else PAGE_FILE)
    write_whole(file, page_html(public_content(content) if public else content))
    return file


def read_content(folder: Path) -> dict[str, Any]:
    """The content of the report in a results folder; raises ResultsError where there is none."""
    file = folder / CONTENT_FILE
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise ValueError(f"the format must be {FORMAT!r}")
    except (OSError, ValueError) as error:
        raise ResultsError(
            f"{folder} must be a results folder with {CONTENT_FILE}, which every run writes since "
            f"fedbn 0.2: {error}"
        ) from None
    return content
