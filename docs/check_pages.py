"""Whether built pages stand alone: `python docs/check_pages.py FOLDER`.

Every file that a page or a style sheet loads must be in the folder, and so must every file that a
page links to. A page may link to another machine; it loads nothing from there.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

__all__ = ["faults"]

_LOADS = {
    ("audio", "src"), ("embed", "src"), ("iframe", "src"), ("img", "src"), ("img", "srcset"),
    ("input", "src"), ("link", "href"), ("object", "data"), ("script", "src"), ("source", "src"),
    ("source", "srcset"), ("track", "src"), ("video", "poster"), ("video", "src"),
}  # fmt: skip
_LINKS_ONLY = {"canonical", "next", "prev", "author", "license"}
"""Kinds of `<link>` that a browser does not fetch."""

_IN_STYLE = re.compile(r"""url\(\s*["']?([^"')]+)|@import\s+["']([^"']+)""")


class _Addresses(HTMLParser):
    """What a page loads, and where it links to."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.linked: list[str] = []
        self._in_style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Sort the tag's addresses."""
        given = {name: value for name, value in attrs if value is not None}
        for name, value in given.items():
            if name == "style":
                self.loaded += _in_style(value)
            elif (tag, name) == ("a", "href"):
                self.linked.append(value)
            elif (tag, name) in _LOADS and not _LINKS_ONLY & set(given.get("rel", "").split()):
                self.loaded += [part.split()[0] for part in value.split(",")]
        self._in_style = tag == "style"

    def handle_data(self, data: str) -> None:
        """A style sheet in the page loads, too."""
        if self._in_style:
            self.loaded += _in_style(data)


def faults(folder: Path) -> Iterator[str]:
    """One line for each address that is elsewhere and loaded, or that leads to no file."""
    for page in sorted(folder.rglob("*.html")):
        found = _Addresses()
        found.feed(page.read_text(encoding="utf-8"))
        yield from _faults(folder, page, found.loaded, found.linked)
    for sheet in sorted(folder.rglob("*.css")):
        yield from _faults(folder, sheet, _in_style(sheet.read_text(encoding="utf-8")), [])


def _in_style(text: str) -> list[str]:
    return [url or imported for url, imported in _IN_STYLE.findall(text)]


def _faults(folder: Path, page: Path, loaded: list[str], linked: list[str]) -> Iterator[str]:
    name = page.relative_to(folder)
    for address in dict.fromkeys([*loaded, *linked]):
        parts = urlsplit(address)
        if parts.scheme == "data":
            continue
        if parts.scheme or parts.netloc:
            if address in loaded:
                yield f"{name} loads {address}"
        elif parts.path and not (page.parent / unquote(parts.path)).exists():
            yield f"{name} leads to {address}, which is not there"
        elif parts.path.startswith("/"):
            yield f"{name} leads to {address}, which is not below every host"


def main(folder: str) -> None:
    """Print faults; the status is 1 where there are some or no pages."""
    place = Path(folder)
    found = [*faults(place)]
    print(*found, sep="\n", end="\n" if found else "")
    pages = len(list(place.rglob("*.html")))
    print(f"{pages} pages, {len(found)} faults")
    sys.exit(bool(found) or not pages)


if __name__ == "__main__":
    main(*sys.argv[1:])
