"""What `run.json` says of a run, so that the folder can be sent: names and hashes, no paths.

A file is told by its name and the SHA-256 of its bytes; a folder by its name. A setting that was
not given is null. Where the run itself wrote (results, checkpoint) is nobody's business.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import Any

from fedbn.data.columns import TABLE_SUFFIXES
from fedbn.federation.run_config import run_config_keys, to_run_config, typed_values
from fedbn.federation.settings import Experiment
from fedbn.graphs.knowledge import is_text

FILES = (
    "network", "table", "sites", "sites-dir", "schema", "network-dir", "knowledge", "groups-file",
)  # fmt: skip
"""Settings that may name files or folders."""

OWN = ("out-dir", "checkpoint")


def sendable(run: Mapping[str, Any]) -> dict[str, Any]:
    """The record with settings as JSON has them, input files by name and hash, and no path."""
    settings = run.get("settings")
    if not isinstance(settings, Mapping):
        return dict(run)
    if set(settings) <= set(run_config_keys()):
        settings = typed_values(settings)
    inputs = [each for key in FILES for each in hash_files(key, settings.get(key))]
    plain = {key: _without_folders(key, value) for key, value in settings.items()}
    return {**run, "settings": plain, "inputs": [*run.get("inputs", ()), *inputs]}


def _without_folders(key: str, value: Any) -> Any:
    """The setting without folders."""
    if key in OWN:
        return None
    if key in FILES and isinstance(value, str) and not is_text(value):
        return Path(value).name
    if key in FILES and isinstance(value, (list, tuple)):
        return [Path(each).name for each in value]
    return list(value) if isinstance(value, tuple) else value


def hash_files(key: str, value: Any) -> Iterator[dict[str, str]]:
    """The files that a setting names, with their hashes."""
    texts = value if isinstance(value, (list, tuple)) else [value]
    for text in texts:
        path = Path(text) if isinstance(text, str) and text and not is_text(text) else None
        if path is None:
            continue
        inside = sorted(path.iterdir()) if key == "sites-dir" and path.is_dir() else [path]
        for file in inside:
            if file.is_file() and (file == path or file.name.endswith(TABLE_SUFFIXES)):
                digest = hashlib.sha256(file.read_bytes()).hexdigest()
                yield {"setting": key, "name": file.name, "sha256": digest}


def command_line() -> str | None:
    """How the command was called, folders left out; None where it was not the command `fedbn`."""
    if Path(sys.argv[0]).name != "fedbn":
        return None
    words = [Path(word).name if word.startswith(("/", "~")) else word for word in sys.argv[1:]]
    return " ".join(["fedbn", *(_quote(word) for word in words)])


def repeat_line(run: Mapping[str, Any]) -> str | None:
    """The command that repeats a simulation, from its settings that are not the defaults."""
    settings = run.get("settings")
    if run.get("command") != "simulate" or not isinstance(settings, Mapping):
        return None
    usual = typed_values(to_run_config(Experiment()))
    words = ["fedbn simulate"]
    for key, value in settings.items():
        default = usual.get(key)
        if value is None or value == (list(default) if isinstance(default, tuple) else default):
            continue
        told = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        words.append(f"--set {_quote(f'{key}={told}')}")
    return " \\\n  ".join(words)


def _quote(word: object) -> str:
    from shlex import quote

    return quote(str(word))


def fractions_told(facts: Any) -> dict[str, Any]:
    """The fields of a dataclass or mapping; beside each fraction its decimal."""
    found: dict[str, Any] = {}
    for key, value in (facts if isinstance(facts, Mapping) else asdict(facts)).items():
        found[key] = value
        if isinstance(value, Fraction) or key == "theta":
            found[f"{key}_decimal"] = None if value is None else float(value)
    return found
