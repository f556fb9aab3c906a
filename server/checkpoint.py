"""The checkpoint's file: whole or not there, and never lost before a newer one is on disk."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fedbn.bounded_file import read_bounded
from fedbn.errors import ConfigError, ResultsError
from fedbn.federation.checkpoint import (
    Checkpoint,
    checkpoint_text,
    read_checkpoint,
    require_same_settings,
)
from fedbn.federation.run_config import to_run_config
from fedbn.federation.settings import Experiment, OutputSettings
from fedbn.federation.state import ServerState
from fedbn.locked_file import lock
from fedbn.whole_file import replace_file
from fedbn.wording import reason_of


def checkpoint_file(output: OutputSettings) -> Path | None:
    """Where the run keeps its state: as set, or beside its results; None for nowhere."""
    if output.checkpoint is not None:
        return Path(output.checkpoint)
    if output.out_dir is None:
        return None
    results = Path(output.out_dir).expanduser().absolute()
    return results.with_name(f"{results.name}.checkpoint.json")


@contextmanager
def hold(output: OutputSettings) -> Iterator[None]:
    """Inside, no other run writes this checkpoint, on any machine that sees the file; raises
    ConfigError where another run does, ResultsError where the folder cannot be written."""
    file = checkpoint_file(output)
    if file is None:
        yield
        return
    held = file.with_name(f"{file.name}.lock")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        handle = _open_locked(held)
    except BlockingIOError:
        raise ConfigError(
            f"another run writes {file} just now: give this one another out-dir or checkpoint"
        ) from None
    except OSError as error:
        raise ResultsError(f"cannot write {held}: {error.strerror or error}") from None
    try:
        yield
    finally:
        held.unlink(missing_ok=True)
        os.close(handle)


def _open_locked(path: Path) -> int:
    """The file, locked, and still there under this name; raises BlockingIOError."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            lock(handle, wait=False)
            if path.exists() and os.fstat(handle).st_ino == path.stat().st_ino:
                return handle
        except OSError:
            os.close(handle)
            raise
        os.close(handle)  # the run before had removed it: nobody else sees this one


def keep(state: ServerState, run: Experiment) -> None:
    """Write the state; the old file stays until the new one is whole on disk. Raises ResultsError
    where it cannot be written, for example because the disk is full."""
    file = checkpoint_file(run.output)
    if file is None:
        return
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        replace_file(file, checkpoint_text(Checkpoint(to_run_config(run), state)), mode=0o600)
    except OSError as error:
        raise ResultsError(
            f"the state after round {state.rounds} cannot be written to {file}: "
            f"{error.strerror or error}; the state before it is kept: make room, then resume"
        ) from None


def resume(run: Experiment) -> ServerState | None:
    """The state to go on from; None when the run is to begin. Raises ConfigError where there is no
    checkpoint to resume, or it has other settings; ResultsError where it cannot be read."""
    if not run.output.resume:
        return None
    file = checkpoint_file(run.output)
    if file is None:
        raise ConfigError("resume needs the checkpoint of the run: set checkpoint or out-dir")
    try:
        text = read_bounded(file).decode("utf-8")
    except FileNotFoundError:
        raise ConfigError(
            f"there is nothing to resume: no checkpoint {file}; either no round was finished, or "
            "the results were written"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ResultsError(f"cannot read the checkpoint {file}: {reason_of(error)}") from None
    checkpoint = read_checkpoint(text, str(file))
    require_same_settings(to_run_config(run), checkpoint, str(file))
    return checkpoint.state


def forget(output: OutputSettings) -> None:
    """Remove the checkpoint, once the results are written; not that of a run that came after."""
    file = checkpoint_file(output)
    if file is not None:
        with suppress(OSError, ConfigError), hold(output):
            file.unlink(missing_ok=True)
