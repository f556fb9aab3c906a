"""A sweep as an array job of SLURM: a script of which every task runs a share of the cases."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from fedbn.errors import ConfigError
from fedbn.whole_file import write_whole

T = TypeVar("T")

MAX_TASKS = 1_000
"""SLURM's own default is 1001 entries of an array."""


@dataclass(frozen=True)
class Share:
    """Every n-th case, from the `index`-th on, which counts from 0.

    >>> Share.read("1/3").of([10, 11, 12, 13, 14])
    [11, 14]
    """

    index: int
    count: int

    @classmethod
    def read(cls, text: str) -> Share:
        """Of "INDEX/COUNT"; raises ConfigError unless 0 <= INDEX < COUNT."""
        found = re.fullmatch(r"(\d+)/(\d+)", text)
        index, count = map(int, found.groups()) if found else (0, 0)
        if not 0 <= index < count:
            raise ConfigError(f"--share must be K/N with 0 <= K < N, not {text!r}")
        return cls(index, count)

    def of(self, cases: Sequence[T]) -> list[T]:
        """Its part of the cases."""
        return list(cases[self.index :: self.count])

    @property
    def file(self) -> str:
        """Of its rows: tasks on several machines must not write to one file."""
        return f"rows-{self.index}-of-{self.count}.jsonl"


def array_script(plan: Path, folder: Path, tasks: int, command: str) -> str:
    """The lines of the script, with absolute paths.

    Parameters
    ----------
    tasks : entries of the array, at least 1.
    command : the program fedbn, as it is called on the nodes.

    Raises
    ------
    ConfigError : tasks is out of range.
    """
    if not 1 <= tasks <= MAX_TASKS:
        raise ConfigError(f"--slurm-tasks must be between 1 and {MAX_TASKS}, not {tasks}")
    here, there = plan.resolve(), folder.resolve()
    name = re.sub(r"[^A-Za-z0-9_.-]", "-", plan.stem)
    run = shlex.join([command, "sweep", str(here), "--out", str(there), "--quiet"])
    return f"""#!/bin/bash
#SBATCH --job-name=fedbn-{name}
#SBATCH --array=0-{tasks - 1}
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=1
# Partition, time and memory are your cluster's affair: add #SBATCH lines here.
# A task that was stopped goes on where it was. When all have ended, the table of all cases:
#   {shlex.join([command, "sweep", str(here), "--out", str(there)])}
set -euo pipefail
export OMP_NUM_THREADS=1
{run} --share "$SLURM_ARRAY_TASK_ID/{tasks}"
"""


def write_script(path: Path, text: str) -> None:
    """The script, executable; raises ResultsError where it cannot be written."""
    write_whole(path, text.encode("utf-8"))
    path.chmod(0o755)
