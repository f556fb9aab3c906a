"""Hypothesis gives the same examples in every run, so that a commit passes or fails everywhere.

FEDBN_NEW_EXAMPLES=1 python -m pytest tests/...     looks for new ones
"""

from __future__ import annotations

import os

from hypothesis import settings

# No test looks at a clock, so none fails for being slow on a busy machine.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("new", deadline=None)
settings.load_profile("new" if os.environ.get("FEDBN_NEW_EXAMPLES") else "repeatable")
