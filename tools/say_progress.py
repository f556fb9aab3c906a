"""Run a command and never be silent for long: `make` installs with it.

    python tools/say_progress.py "installing packages" .venv/bin/python -m pip install numpy

What the command says is passed on. When it has said nothing for three seconds, a line tells what is
being done, how many of the packages that pip named are in place, and for how long. It exits as the
command does. Nothing but Python's own library is used, as nothing else is installed yet.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from threading import Event, Thread

SILENCE = 3.0
"""Seconds without a line before one is said."""

PROMISE = "Installing collected packages:"
"""Pip's last words before it writes the packages, which it then names."""


class Progress:
    """What a command does, since when, and when it last said something."""

    def __init__(self, words: str, command: list[str]) -> None:
        self._words = words
        self._packages = Path(command[0]).parent.parent
        self._began = self._heard = time.monotonic()
        self._promised = 0
        self._before = 0

    def hear(self, line: str) -> None:
        """Pass on a line of the command."""
        self._heard = time.monotonic()
        if line.startswith(PROMISE):
            self._promised, self._before = line.count(",") + 1, self._in_place()
        print(line, end="", flush=True)

    def tick(self) -> None:
        """Say a line if nothing has been said for long."""
        now = time.monotonic()
        if now - self._heard < SILENCE:
            return
        self._heard = now
        minutes, seconds = divmod(round(now - self._began), 60)
        many = f": {self._in_place() - self._before} of {self._promised}" if self._promised else ""
        print(f"{self._words}{many}, {minutes}:{seconds:02d}", flush=True)

    def _in_place(self) -> int:
        return sum(1 for _ in self._packages.glob("lib/python*/site-packages/*.dist-info"))


def main(words: str, *command: str) -> int:
    """Run the command; its exit code."""
    print(words, flush=True)
    progress, ended = Progress(words, list(command)), Event()

    def watch() -> None:
        while not ended.wait(0.25):
            progress.tick()

    Thread(target=watch, daemon=True).start()
    running = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8"
    )
    assert running.stdout is not None
    with running.stdout as lines:
        for line in lines:
            progress.hear(line)
    code = running.wait()
    ended.set()
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
