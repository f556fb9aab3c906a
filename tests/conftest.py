"""Hypothesis gives the same examples in every run, so that a commit passes or fails everywhere.

FEDBN_NEW_EXAMPLES=1 python -m pytest tests/...     looks for new ones
"""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("repeatable", derandomize=True)
if not os.environ.get("FEDBN_NEW_EXAMPLES"):
    settings.load_profile("repeatable")
