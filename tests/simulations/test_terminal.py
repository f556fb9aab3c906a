"""What the command writes to standard error."""

from __future__ import annotations

import warnings

import pytest

from fedbn.errors import FedbnWarning
from simulations.terminal import show_warnings


def test_a_warning_is_said_once_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with show_warnings():
        warnings.simplefilter("always")
        for text in ("two\n lines", "another", "two\n lines"):
            warnings.warn_explicit(text, FedbnWarning, "place", len(text), registry={})
    told = capsys.readouterr().err.splitlines()
    assert told == ["fedbn: warning: two lines", "fedbn: warning: another"]
