"""Numbers of things in words, for every message."""

from __future__ import annotations

__all__ = ["count_of"]


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
