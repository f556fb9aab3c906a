"""Which bundles a site answers: those whose client app is, byte for byte, the one installed here.

Flower sends the code of a run to the sites. A site that runs its own installed app needs none of
it; but a bundle with another app is refused, so that nobody believes that the site ran that one.
"""

from __future__ import annotations

import hashlib
import io
import tomllib
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import clients
import fedbn

APP = "clients.client_app:app"
PACKAGE = f"{clients.__name__}/"
PROJECT = "pyproject.toml"
MAX_PROJECT = 1 << 20
"""Bytes of a pyproject.toml that are read."""


def bundle_digest(bundle: bytes) -> str:
    """SHA-256 of a bundle in hex, as Flower names it."""
    return hashlib.sha256(bundle).hexdigest()


def refusal_of(bundle: bytes, pinned: Sequence[str] = ()) -> str:
    """Why the site does not take part in the bundle's run; empty if it does.

    Nothing of the bundle is run or written anywhere, and of no file more is read than the installed
    one has.

    Parameters
    ----------
    bundle : a Flower app bundle (FAB), a zip file.
    pinned : SHA-256 in hex of the only bundles that are answered; any if there is none.
    """
    if pinned and bundle_digest(bundle) not in pinned:
        return "the bundle is none of those that this site's file names"
    try:
        with zipfile.ZipFile(io.BytesIO(bundle)) as archive:
            if _app(archive) != APP:
                return f"the bundle's client app must be {APP}"
            same = _is_installed_app(archive)
    except (
        OSError,
        EOFError,
        KeyError,
        ValueError,  # bad TOML, bad UTF-8
        TypeError,
        RuntimeError,  # encrypted
        NotImplementedError,
        zipfile.BadZipFile,
        zlib.error,
    ):
        return "the bundle cannot be read"
    return "" if same else f"the bundle's client app is not that of this site's {_version()}"


def _app(archive: zipfile.ZipFile) -> object:
    """The client app that the bundle names."""
    with archive.open(PROJECT) as file:
        project = tomllib.loads(file.read(MAX_PROJECT).decode("utf-8"))
    return project["tool"]["flwr"]["app"]["components"]["clientapp"]


def _is_installed_app(archive: zipfile.ZipFile) -> bool:
    installed = _installed_files()
    entries = [entry for entry in archive.infolist() if entry.filename.startswith(PACKAGE)]
    if sorted(entry.filename for entry in entries) != sorted(installed):
        return False
    return all(
        entry.file_size == len(content := installed[entry.filename])
        and archive.open(entry).read(len(content) + 1) == content
        for entry in entries
    )


@cache
def _installed_files() -> Mapping[str, bytes]:
    """Path in a bundle -> content, of the modules of the installed app."""
    folder = Path(clients.__path__[0])
    return {
        f"{PACKAGE}{path.relative_to(folder).as_posix()}": path.read_bytes()
        for path in folder.rglob("*.py")
    }


def _version() -> str:
    return f"fedbn {fedbn.__version__}"
