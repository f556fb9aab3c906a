"""Run the command as a user does, in this process: its exit status and what it printed."""

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from simulations.cli import main


@dataclass(frozen=True)
class Ran:
    status: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """The one JSON object on standard output."""
        assert self.status == 0, self.err
        content = json.loads(self.out)
        assert isinstance(content, dict)
        return content

    @property
    def error(self) -> str:
        """The one line of an error of fedbn."""
        assert self.status == 1
        assert self.out == ""
        lines = self.err.splitlines()
        assert len(lines) == 1, self.err
        assert lines[0].startswith("fedbn: error: ")
        return lines[0]


Fedbn = Callable[..., Ran]


@pytest.fixture
def fedbn(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Fedbn:
    # Wide enough that help and tables wrap nothing that a test looks for.
    monkeypatch.setenv("COLUMNS", "160")
    # How long a command takes here is no matter of a test.
    monkeypatch.setattr("simulations.progress.FIRST_SECONDS", math.inf)

    def run(*arguments: object) -> Ran:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        code = ended.value.code
        return Ran(0 if code is None else int(code), printed.out, printed.err)

    return run
