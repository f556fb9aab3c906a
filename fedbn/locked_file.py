"""Files that one process at a time writes to, on every system.

The lock is `flock` where there is one, else Windows' byte locks.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FAR = 1 << 30  # Windows refuses to read locked bytes: the one that is locked lies beyond the end


def lock(file: int, *, wait: bool = True) -> None:
    """Lock a file against other processes until it is closed.

    Parameters
    ----------
    file : descriptor of a file that is open for writing.
    wait : until another process has closed it.

    Raises
    ------
    BlockingIOError : another process has it, and `wait` is False.
    OSError : the system cannot lock this file.
    """
    try:
        import fcntl
    except ImportError:
        _lock_byte(file, wait)
    else:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))


@contextmanager
def open_locked(path: str | Path, *, private: bool = True, wait: bool = True) -> Iterator[int]:
    """A file open for appending, locked until the end; a new one is its owner's alone to read.

    So is one that is there, if `private`; else its owner may have let others read it. Raises
    OSError; BlockingIOError, as `lock` does.
    """
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        lock(file, wait=wait)
        if private and stat.S_ISREG(os.fstat(file).st_mode):
            os.chmod(path, 0o600)
        yield file
    finally:
        os.close(file)


def append(file: int, data: bytes) -> None:
    """Write at the end of an open file, all of it, and force it to disk; raises OSError."""
    if os.write(file, data) != len(data):
        raise OSError(errno.ENOSPC, "no space left")
    os.fsync(file)


def last_byte(file: int) -> bytes:
    """The last byte of a file that is open for reading and appending; b"" if it is empty."""
    size = os.fstat(file).st_size
    if not size:
        return b""
    os.lseek(file, size - 1, os.SEEK_SET)
    return os.read(file, 1)


def _lock_byte(file: int, wait: bool) -> None:
    import msvcrt  # Windows only

    while True:
        os.lseek(file, FAR, os.SEEK_SET)
        try:
            msvcrt.locking(file, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
            return
        except OSError as error:  # LK_LOCK gives up after ten seconds
            if not wait:
                raise BlockingIOError(error.errno, error.strerror) from None
        finally:
            os.lseek(file, 0, os.SEEK_SET)
