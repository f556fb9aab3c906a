"""Background knowledge said in Python, for learners that read it from a file."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["knowledge_in_file"]


@contextmanager
def knowledge_in_file(settings: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Inside, the settings with a mapping `knowledge` in a file of its own; others as they are.

    The mapping has the keys of `fedbn.graphs.knowledge.Knowledge`: required, forbidden, tiers.
    """
    given = settings.get("knowledge")
    if not isinstance(given, Mapping):
        yield dict(settings)
        return
    with tempfile.TemporaryDirectory(prefix="fedbn-") as folder:
        file = Path(folder) / "knowledge.json"
        file.write_text(json.dumps(dict(given)), encoding="utf-8")
        yield {**settings, "knowledge": str(file)}
