"""Flower says a lot in its log; here nobody reads it."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _silent_flower() -> Iterator[None]:
    log = logging.getLogger("flwr")
    level = log.level
    log.setLevel(logging.ERROR)
    yield
    log.setLevel(level)
