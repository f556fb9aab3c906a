"""Words for messages: numbers of things, and what another party wrote."""

from __future__ import annotations

from collections.abc import Sequence


def count_of(many: int, word: str) -> str:
    """So many of a thing, the word given for one of it.

    >>> count_of(1, "edge"), count_of(0, "edge"), count_of(12_000, "row")
    ('1 edge', '0 edges', '12000 rows')
    >>> count_of(2, "family"), count_of(2, "class"), count_of(2, "more pair")
    ('2 families', '2 classes', '2 more pairs')
    """
    if many == 1:
        return f"1 {word}"
    if word.endswith("y"):
        return f"{many} {word[:-1]}ies"
    return f"{many} {word}es" if word.endswith("s") else f"{many} {word}s"


def reason_of(error: Exception) -> str:
    """Why a file cannot be read or written, without the number and the path of the system's words.

    >>> reason_of(FileNotFoundError(2, "No such file or directory", "a.csv"))
    'No such file or directory'
    >>> reason_of(UnicodeDecodeError("utf-8", b"\\x80", 0, 1, "invalid start byte"))
    'it must be UTF-8 text, byte 0 is not'
    """
    if isinstance(error, UnicodeDecodeError):
        return f"it must be UTF-8 text, byte {error.start} is not"
    return str(getattr(error, "strerror", None) or error)


def list_some(texts: Sequence[str], shown: int = 3, *, quoted: bool = True) -> str:
    """The first of some texts, and how many more there are.

    >>> list_some(["age"]), list_some("abcde"), list_some("abcde", 4, quoted=False)
    ("'age'", "'a', 'b', 'c' and 2 more", 'a, b, c, d and 1 more')
    """
    more = len(texts) - shown
    told = [repr(text) if quoted else text for text in texts[:shown]]
    return ", ".join(told) + (f" and {more} more" if more > 0 else "")


def printable(text: str, max_length: int = 200) -> str:
    r"""The first line of another party's text, at most so long, without control characters.

    >>> printable("a\x1b[31mb\nsecond line")
    'a[31mb'
    """
    line = text.strip().splitlines()[0] if text.strip() else ""
    return "".join(letter for letter in line[:max_length] if letter.isprintable())
