"""A lock on an open file, on every system: `flock` where there is one, else Windows' byte locks."""

from __future__ import annotations

import os

__all__ = ["last_byte", "lock"]

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
