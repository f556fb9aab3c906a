"""What the command writes to standard error."""

from __future__ import annotations

import warnings

import pytest

from fedbn.errors import FedbnWarning, TableWarning
from simulations.terminal import show_warnings


def test_a_warning_is_said_once_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with show_warnings():
        warnings.simplefilter("always")
        for text in ("two\n lines", "another", "two\n lines"):
            warnings.warn_explicit(text, FedbnWarning, "place", len(text), registry={})
    told = capsys.readouterr().err.splitlines()
    assert told == ["fedbn: warning: two lines", "fedbn: warning: another"]


def test_what_holds_of_several_tables_is_said_of_one_and_then_of_the_others(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with show_warnings():
        warnings.simplefilter("always")
        for source in ("a.csv", "b.csv", "a.csv", "c.csv"):
            warnings.warn(f"{source}: column 'x' is constant", TableWarning, stacklevel=1)
        warnings.warn("b.csv: column 'y' is constant", TableWarning, stacklevel=1)
        warnings.warn("d.csv: column 'x' is constant", FedbnWarning, stacklevel=1)
        assert capsys.readouterr().err.splitlines() == [
            "fedbn: warning: a.csv: column 'x' is constant",
            "fedbn: warning: b.csv: column 'y' is constant",
            "fedbn: warning: d.csv: column 'x' is constant",
        ]
    assert capsys.readouterr().err.splitlines() == [
        "fedbn: warning: b.csv, c.csv: column 'x' is constant"
    ]
