"""The report's two files in a results folder: `report.json`, its content, and `report.html`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedbn.bounded_file import json_value, read_bounded
from fedbn.errors import ResultsError
from fedbn.results.dictionary import write_readme
from fedbn.results.page.content import FORMAT
from fedbn.results.page.html import page_html
from fedbn.results.page.parameters import (
    told_not_given,
    told_numbers,
    told_parameters,
    told_remarks,
)
from fedbn.results.page.public import public_content
from fedbn.whole_file import write_whole
from fedbn.wording import reason_of

if TYPE_CHECKING:
    from fedbn.networks.conditional_gaussian import Network

CONTENT_FILE, PAGE_FILE, PUBLIC_FILE = "report.json", "report.html", "report-public.html"


def write_page(content: Mapping[str, Any], place: Path) -> None:
    """Both files, into a folder; raises ResultsError when one cannot be written."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n"
    write_whole(place / CONTENT_FILE, text)
    write_whole(place / PAGE_FILE, page_html(content))


def refresh_parameters(
    folder: Path,
    network: Network,
    names: Sequence[str] | None = None,
    run: Mapping[str, Any] | None = None,
) -> None:
    """Write the report of a results folder anew, with the network that is in network.json now.

    `names` are the variables of the consensus, where they may be more than the network's; `run`
    is what `run.json` says now.

    Raises
    ------
    ResultsError : the folder has no report's content, or the page cannot be written.
    """
    content = read_content(folder)
    digest = hashlib.sha256((folder / "network.json").read_bytes()).hexdigest()
    hashes = {**content["hashes"], "network.json": digest}
    told = told_parameters(network, names=names) | told_numbers(network, run or {})
    told |= told_not_given(run or {}) | told_remarks(run or {})
    before = ("not_given", "parameter_remarks")
    known = {key: value for key, value in content.items() if key not in before}
    write_page({**known, **told, "hashes": hashes}, folder)


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
    try:
        page = page_html(public_content(content) if public else content)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        words = " ".join(repr(error).split())[:200]
        raise ResultsError(f"{folder / CONTENT_FILE} is not as fedbn wrote it: {words}") from None
    write_whole(file, page)
    if file.parent == folder:
        write_readme(folder)
    return file


def read_content(folder: Path) -> dict[str, Any]:
    """The content of the report in a results folder; raises ResultsError where there is none."""
    file = folder / CONTENT_FILE
    try:
        content = json_value(read_bounded(file).decode("utf-8"))
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise ValueError(f"the format must be {FORMAT!r}")
    except (OSError, ValueError) as error:
        raise ResultsError(
            f"{folder} must be a results folder with {CONTENT_FILE}, which every run writes since "
            f"fedbn 0.2: {reason_of(error)}"
        ) from None
    return content
