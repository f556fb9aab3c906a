"""Files read with a bound: one that is larger, or unpacks to more, is refused at the bound.

A few kilobytes of gzip unpack to gigabytes, /dev/zero has no end, and JSON can be nested deeper
than a reader can follow. What fedbn reads from files comes through here.
"""

from __future__ import annotations

import errno
import gzip
import io
import json
from pathlib import Path
from typing import IO, Any

from fedbn.errors import ConfigError, system_errors_as

MAX_SETTINGS = 1 << 20
"""Bytes of a file that people write: a site's file, background knowledge."""

MAX_TEXT = 1 << 28
"""Bytes of structures, networks and states of runs, unpacked."""

MAX_TABLE = 1 << 32
"""Bytes of a table, unpacked."""

_PIECE = 1 << 18


def read_bounded(path: str | Path, most: int = MAX_TEXT, *, gzipped: bool = False) -> bytes:
    """The content of a file, unpacked if it is `gzipped`.

    Raises
    ------
    OSError : it cannot be read, has more than `most` bytes, or is no gzip file (BadGzipFile).
    EOFError, zlib.error : as `gzip.decompress`.
    """
    with Path(path).open("rb") as file:
        if not gzipped:
            return _read_all(file, most)
        with gzip.GzipFile(fileobj=file) as unpacked:
            return _read_all(unpacked, most)


def _read_all(file: IO[bytes] | gzip.GzipFile, most: int) -> bytes:
    """In pieces: `read(most + 1)` would ask for so much memory before it looks at the file."""
    content = io.BytesIO()
    while piece := file.read(_PIECE):
        content.write(piece)
        if content.tell() > most:
            raise OSError(errno.EFBIG, f"it has more than {most:,} bytes")
    return content.getvalue()


def read_toml(path: str | Path) -> dict[str, Any]:
    """The content of a TOML file that people write; raises ConfigError when it cannot be read."""
    import tomllib

    with system_errors_as(ConfigError, f"cannot read {path}"):
        data = read_bounded(path, MAX_SETTINGS)
    try:
        return tomllib.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:  # of TOML, of UTF-8, of long numbers
        raise ConfigError(f"{path} is not valid TOML: {error}") from None


def json_value(text: str | bytes, **how: Any) -> Any:
    """As `json.loads`, with a ValueError where a text is nested too deeply.

    >>> json_value("[" * 100_000)
    Traceback (most recent call last):
        ...
    ValueError: JSON must not be nested so deeply
    """
    try:
        return json.loads(text, **how)
    except RecursionError:
        raise ValueError("JSON must not be nested so deeply") from None
