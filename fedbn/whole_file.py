"""A file written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from fedbn.errors import ResultsError, system_errors_as


def write_whole(path: str | Path, content: str | bytes, mode: int | None = None) -> None:
    """Replace a file, or leave it as it was.

    Parameters
    ----------
    path : its folder must exist.
    content : text is written as UTF-8, line ends as they are.
    mode : the rights of the file; by default those that the system gives a new one.

    Raises
    ------
    ResultsError : it cannot be written.
    """
    with system_errors_as(ResultsError, f"cannot write {path}"):
        replace_file(Path(path), content, mode)


def require_writable(path: str | Path) -> None:
    """Checks before long work that `write_whole` can write there; leaves nothing behind.

    Raises
    ------
    ResultsError : the folder is not there or cannot be written in, or the path is a folder.
    """
    path = Path(path)
    with system_errors_as(ResultsError, f"cannot write {path}"):
        if not path.parent.is_dir():
            raise ResultsError(f"cannot write {path}: there is no folder {path.parent}")
        if path.is_dir():
            raise ResultsError(f"cannot write {path}: it is a folder")
        handle, name = _make_beside(path)
        os.close(handle)
        Path(name).unlink()


def replace_file(path: Path, content: str | bytes, mode: int | None = None) -> None:
    """`write_whole` for callers with words of their own: raises OSError.

    The content lies beside the file, under a name of its own, until it is on disk. `mode` are the
    rights of the file; by default those that the system gives a new one.
    """
    data = content.encode("utf-8") if isinstance(content, str) else content
    handle, name = _make_beside(path)
    beside = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        beside.chmod(0o666 & ~_umask() if mode is None else mode)
        beside.replace(path)
    except OSError:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        raise


def _make_beside(path: Path) -> tuple[int, str]:
    """An open, empty file in the same folder; its name is as long as any system takes."""
    return tempfile.mkstemp(prefix=f".{path.name[:40]}.", dir=path.parent)


def _umask() -> int:
    """What the system takes away from the rights of a new file."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
