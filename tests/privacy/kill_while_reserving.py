"""Reserve and draw in a child that is killed at its k-th instruction, for k = 1, 2, ...

    python -m tests.privacy.kill_while_reserving FOLDER

An instruction is one of bytecode, in the ledger's module or here. A child reserves, then marks its
draw in the file "drawn". For every state that the ledger may be in before (no file, one line, one
line without its end), children are killed one instruction later each, until one lives to the end.
Each child that broke the promise gives a line; the last line is the number of those killed.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

from fedbn.privacy import ledger
from fedbn.privacy.guarantee import Guarantee

GUARANTEE = Guarantee(0.01, 1e-6)
TRACED = (ledger.__file__, __file__)


class Killer:
    """A tracer that kills this process at the k-th instruction of a traced file."""

    def __init__(self, k: int) -> None:
        self.left = k

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Killer | None:
        if frame.f_code.co_filename not in TRACED:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            self.left -= 1
            if self.left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return self


def reserve_and_draw(folder: Path) -> None:
    ledger.reserve(
        folder / "t.jsonl",
        GUARANTEE,
        run="1",
        round=1,
        table="00",
        mechanism="dp-climb",
        parameters={"dp-edges": 1.5},
    )
    with (folder / "drawn").open("ab", buffering=0) as drawn:
        drawn.write(b"x")


def killed_at(k: int, folder: Path) -> bool:
    """Whether a child got to its k-th instruction, where it was killed."""
    child = os.fork()
    if child == 0:
        gc.disable()
        sys.settrace(Killer(k))
        reserve_and_draw(folder)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def starts(folder: Path) -> Iterator[bytes]:
    """What the ledger may hold before."""
    yield b""
    reserve_and_draw(folder)
    line = (folder / "t.jsonl").read_bytes()
    yield line
    yield line.rstrip(b"\n")


def main(folder: Path) -> None:
    reserve_and_draw(folder)  # what is imported then is not imported by every child
    path, drawn, killed = folder / "t.jsonl", folder / "drawn", 0
    path.unlink()
    for start in starts(folder):
        before, k, going = len(start.splitlines()), 0, True
        while going:
            path.write_bytes(start)
            drawn.write_bytes(b"")
            k += 1
            going = killed_at(k, folder)
            killed += going
            spent = len(ledger.Ledger.read(path).entries) - before
            if spent < drawn.stat().st_size or not 0 <= spent <= 1:
                print(f"instruction {k} of a start with {len(start)} bytes: {spent} reserved")
    print(killed)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
