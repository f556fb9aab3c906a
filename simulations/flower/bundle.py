"""The Flower app as a folder that `flwr run` takes: the two thin apps and the run's settings.

A run whose settings name its data is a simulation, and has the package of simulated sites, too. No
site answers such a bundle. fedbn itself is in none: every machine imports the installed package
with its compiled core.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import clients
import fedbn
import server
import simulations.sites
from fedbn.federation.run_config import from_run_config

DEPLOYED_APP = f"{clients.__name__}.client_app:app"
SIMULATED_APP = f"{simulations.sites.__name__}.client_app:app"
"""The client apps that a bundle may name: of deployed sites, and of a simulation."""

DEPLOYED_SERVER = f"{server.__name__}.server_app:app"
SIMULATED_SERVER = f"{simulations.sites.__name__}.server_app:app"
"""The same of server apps."""

_PROJECT = """[project]
name = "fedbn-run"
version = "{version}"

[tool.flwr.app]
publisher = "fedbn"

[tool.flwr.app.components]
serverapp = "{server}"
clientapp = "{app}"

[tool.flwr.app.config]
"""


def write_bundle(folder: Path, run_config: Mapping[str, Any]) -> None:
    """Copy the apps' packages as they were imported, and write `pyproject.toml` with settings.

    Raises OSError when the folder cannot be written or has such a package already.
    """
    packages, app, of_server = [clients, server], DEPLOYED_APP, DEPLOYED_SERVER
    if from_run_config(run_config).data.is_named:
        packages.append(simulations.sites)
        app, of_server = SIMULATED_APP, SIMULATED_SERVER
        _copy(Path(str(simulations.__file__)), folder / simulations.__name__ / "__init__.py")
    for package in packages:
        for file in Path(package.__path__[0]).glob("*.py"):
            _copy(file, folder.joinpath(*package.__name__.split("."), file.name))
    lines = [f"{key} = {_toml(value)}" for key, value in run_config.items()]
    project = _PROJECT.format(version=fedbn.__version__, app=app, server=of_server)
    text = project + "\n".join(lines) + "\n"
    (folder / "pyproject.toml").write_text(text, encoding="utf-8")


def _copy(file: Path, place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    with place.open("xb") as copy:
        copy.write(file.read_bytes())


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
