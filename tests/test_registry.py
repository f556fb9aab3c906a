"""Which packages announce entries: nothing that importlib.metadata would find is missed."""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from fedbn.registry import Registry

ANNOUNCED = "[console_scripts]\nx = x:main\n\n[fedbn.things]\nmine = mine:thing\n"


def directory(folder: Path, text: str) -> Path:
    (folder / "Mine-1.0.dist-info").mkdir()
    (folder / "Mine-1.0.dist-info" / "METADATA").write_text("Name: Mine\nVersion: 1.0\n")
    (folder / "Mine-1.0.dist-info" / "entry_points.txt").write_text(text)
    return folder


def develop(folder: Path, text: str) -> Path:
    (folder / "mine.egg-info").mkdir()
    (folder / "mine.egg-info" / "PKG-INFO").write_text("Name: mine\nVersion: 1.0\n")
    (folder / "mine.egg-info" / "entry_points.txt").write_text(text)
    return folder


def egg(folder: Path, text: str) -> Path:
    info = folder / "mine-1.0-py3.egg" / "EGG-INFO"
    info.mkdir(parents=True)
    (info / "PKG-INFO").write_text("Name: mine\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(text)
    return info.parent


def archive(folder: Path, text: str) -> Path:
    with zipfile.ZipFile(folder / "mine-1.0-py3-none-any.whl", "w") as packed:
        packed.writestr("mine-1.0.dist-info/METADATA", "Name: mine\nVersion: 1.0\n")
        packed.writestr("mine-1.0.dist-info/entry_points.txt", text)
    return folder / "mine-1.0-py3-none-any.whl"


@pytest.mark.parametrize("kind", [directory, develop, egg, archive])
@pytest.mark.parametrize("text", [ANNOUNCED, "[console_scripts]\nx = x:main\n", ""])
def test_names_are_those_that_importlib_metadata_finds(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: Callable[[Path, str], Path],
    text: str,
) -> None:
    place = kind(tmp_path, text)
    (tmp_path / "no-package").write_text("")
    monkeypatch.setattr(sys, "path", [str(tmp_path / "missing"), str(place), *sys.path])
    known = Registry("thing", "fedbn.things", lambda name, found, origin: found).names()
    assert known == tuple(point.name for point in entry_points(group="fedbn.things"))
    assert known == (("mine",) if text == ANNOUNCED else ())


def test_packages_of_other_finders_are_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody's finder of packages is no place that one can look at."""
    from importlib.metadata import DistributionFinder, PathDistribution

    class Package(PathDistribution):
        def __init__(self) -> None:
            super().__init__(Path("mine-1.0.dist-info"))

        def read_text(self, filename: str) -> str | None:
            return {"METADATA": "Name: mine\nVersion: 1.0\n", "entry_points.txt": ANNOUNCED}.get(
                filename
            )

    class Finder(DistributionFinder):
        def find_spec(self, fullname: str, path: object, target: object = None) -> None:
            return None

        def find_distributions(self, context: object = None) -> list[Package]:
            return [Package()]

    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder()])
    monkeypatch.setattr(sys, "path", [*sys.path, "nowhere"])  # none is remembered
    known = Registry("thing", "fedbn.things", lambda name, found, origin: found).names()
    assert known == ("mine",)
