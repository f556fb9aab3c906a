"""Words for messages: numbers of things, and what another party wrote."""

from __future__ import annotations

__all__ = ["count_of", "printable"]


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


def printable(text: str, max_length: int = 200) -> str:
    r"""The first line of another party's text, at most so long, without control characters.

    >>> printable("a\x1b[31mb\nsecond line")
    'a[31mb'
    """
    line = text.strip().splitlines()[0] if text.strip() else ""
    return "".join(letter for letter in line[:max_length] if letter.isprintable())
