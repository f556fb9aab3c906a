"""The Flower app as a folder that `flwr run` takes: the two thin apps and the run's settings.

fedbn itself is not in it: every machine imports the installed package with its compiled core.
"""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import clients
import fedbn
import server

__all__ = ["bundle_of", "write_bundle"]

_PROJECT = """[project]
name = "fedbn-run"
version = "{version}"

[tool.flwr.app]
publisher = "fedbn"

[tool.flwr.app.components]
serverapp = "server.server_app:app"
clientapp = "clients.client_app:app"

[tool.flwr.app.config]
"""


def write_bundle(folder: Path, run_config: Mapping[str, Any]) -> None:
    """Copy `clients` and `server` as they were imported, and write `pyproject.toml` with settings.

    Raises OSError when the folder cannot be written or has such a package already.
    """
    for package in (clients, server):
        shutil.copytree(
            package.__path__[0],
            folder / package.__name__,
            ignore=shutil.ignore_patterns("__pycache__"),
        )
    lines = [f"{key} = {_toml(value)}" for key, value in run_config.items()]
    text = _PROJECT.format(version=fedbn.__version__) + "\n".join(lines) + "\n"
    (folder / "pyproject.toml").write_text(text, encoding="utf-8")


def bundle_of(folder: Path) -> bytes:
    """The bundle that `flwr run` sends of this folder."""
    from flwr.cli.build import build_fab_from_disk

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of pathspec, in Flower's code
        return build_fab_from_disk(folder)


def _toml(value: Any) -> str:
    """A text, number or truth value as TOML."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return json.dumps(value) if isinstance(value, bool) else repr(value)
