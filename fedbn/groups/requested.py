"""What `--groups` asks for."""

from __future__ import annotations

from fedbn.errors import ConfigError


def requested_groups(text: str) -> int | None:
    """What `--groups` asks for: 1 for "no", None for "auto", else the number.

    Raises
    ------
    ConfigError : it is none of these.
    """
    if text in ("no", "auto"):
        return 1 if text == "no" else None
    if text.isascii() and text.isdigit() and int(text) >= 1:
        return int(text)
    raise ConfigError(f"groups must be no, auto or a number from 1, got {text!r}")
