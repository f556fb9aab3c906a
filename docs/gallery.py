"""The pictures of `docs/gallery.md`, made by the commands under them: `python docs/gallery.py`.

Every block runs in one temporary folder, in the order of the page; its last line names the file
that is the picture. Names of pictures run only these: `python docs/gallery.py sites answers`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

PAGE = Path(__file__).with_name("gallery.md")
WIDTH = 900
"""Pixels of a picture at most."""

COLOURS = 64
SCREEN = (1200, 1400)
"""Width and height of the screen that shows a report."""

_PICTURE = re.compile(
    r"^!\[[^\]]+\]\(gallery/(\w+)\.png\)\n\n```(bash|python)\n(.*?)\n# (\S+)\n```", re.M | re.S
)


class Picture(NamedTuple):
    """Its name, the language and text of what makes it, and the file that it then is."""

    name: str
    language: str
    program: str
    file: str


def pictures() -> list[Picture]:
    """All of the page, in order."""
    return [Picture(*found) for found in _PICTURE.findall(PAGE.read_text("utf-8"))]


def main(wanted: list[str]) -> None:
    """Make them; raises CalledProcessError with a failed command."""
    place = PAGE.with_suffix("")
    place.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for picture in pictures():
            if not wanted or picture.name in wanted:
                made = _run(picture, Path(folder))
                _shrink(made, place / f"{picture.name}.png")
                print(picture.name, flush=True)


def _run(picture: Picture, folder: Path) -> Path:
    scripts = Path(sys.executable).parent
    path = f"{scripts}{os.pathsep}{os.environ['PATH']}"
    command = {"bash": ["bash", "-ec"], "python": [sys.executable, "-c"]}[picture.language]
    subprocess.run(
        [*command, picture.program],
        cwd=folder,
        env={**os.environ, "PATH": path, "MPLBACKEND": "agg"},
        stdout=subprocess.DEVNULL,
        check=True,
    )
    file = folder / picture.file
    return _photographed(file) if file.suffix == ".html" else file


def _photographed(page: Path) -> Path:
    """A page as the system's Chromium shows it."""
    from playwright.sync_api import sync_playwright

    width, height = SCREEN
    made = page.with_suffix(".png")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox"]
        )
        shown = browser.new_page(viewport={"width": width, "height": height})
        shown.goto(page.as_uri())
        shown.screenshot(path=made)
        browser.close()
    return made


def _shrink(source: Path, target: Path) -> None:
    from PIL import Image

    with Image.open(source) as given:
        image = given.convert("RGB")
    image.thumbnail((WIDTH, 10 * WIDTH), Image.Resampling.LANCZOS)
    image.quantize(COLOURS).save(target, optimize=True)


if __name__ == "__main__":
    main(sys.argv[1:])
