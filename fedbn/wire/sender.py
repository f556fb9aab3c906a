"""Whose words are refused: errors about another party's message begin with its name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from fedbn.errors import FedbnError, MessageError


@contextmanager
def said_by(sender: str = "") -> Iterator[None]:
    """Inside, whatever is wrong becomes a MessageError, which names the sender where it is known.

    Readers of messages are decorated with it, without a name; who hands them a message names its
    sender, once for all of it.

    >>> with said_by("north"):
    ...     raise MessageError("rows must be [1], not [2]")
    Traceback (most recent call last):
        ...
    fedbn.errors.MessageError: north: rows must be [1], not [2]
    """
    try:
        yield
    except FedbnError as error:
        if not sender and isinstance(error, MessageError):
            raise
        kind = type(error) if isinstance(error, MessageError) else MessageError
        raise kind(f"{sender}: {error}" if sender else str(error)) from None
