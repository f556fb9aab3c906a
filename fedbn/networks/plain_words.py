"""Names of variables and states for file formats without quotes.

Characters that end a word for some reader become "_", what would be read as something else gets a
letter or "_" in front, and names that differ in case only get a number, because some readers match
without regard to case. A warning says what was renamed.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence

from fedbn.errors import FedbnWarning
from fedbn.networks.network import BayesianNetwork, ConditionalTable
from fedbn.wording import count_of

_SIGNS = (("<=", "le_"), (">=", "ge_"), ("<", "lt_"), (">", "gt_"))
"""So that "<=50K" and ">50K" stay apart for whoever reads them."""

WORD = re.compile(r"(?![0-9]+[eE])(?:[A-Za-z_]|[0-9]+[A-Za-z_])[A-Za-z0-9_.-]*|-?[0-9]+")
"""What pgmpy, pyAgrum and bnlearn read as one word of BIF without quotes."""

IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
"""What GeNIe and Hugin take for a name."""


def with_words(network: BayesianNetwork, form: str, word: re.Pattern[str]) -> BayesianNetwork:
    """The network itself, or one with names and states that a format can carry.

    Parameters
    ----------
    form : what the warning calls the format.
    word : what it can carry, WORD or IDENTIFIER.

    Warns
    -----
    FedbnWarning : a name or state is another one.
    """
    names = _words(network.names, word)
    states = [_words(texts, word) for texts in network.schema.states]
    renamed = [
        f"{old!r} -> {new!r}"
        for olds, news in zip(
            (network.names, *network.schema.states), (names, *states), strict=True
        )
        for old, new in zip(olds, news, strict=True)
        if old != new
    ]
    if not renamed:
        return network
    shown = ", ".join(renamed[:4]) + (", ..." if len(renamed) > 4 else "")
    warnings.warn(
        f"{count_of(len(renamed), 'name')} cannot be written in {form}; changed: {shown}",
        FedbnWarning,
        stacklevel=4,
    )
    return BayesianNetwork.from_tables(
        {
            names[node]: ConditionalTable(
                tuple(states[node]),
                tuple(names[parent] for parent in network.dag.parents(node)),
                network.cpts[node],
            )
            for node in range(network.dag.n)
        }
    )


def _words(texts: Sequence[str], pattern: re.Pattern[str]) -> list[str]:
    """Words of the pattern, no two equal without regard to case."""
    taken = {text.lower() for text in texts if pattern.fullmatch(text)}
    words: list[str] = []
    used: set[str] = set()
    for text in texts:
        word = base = _as_word(text, pattern)
        count = 2
        while word.lower() in used or (word != text and word.lower() in taken):
            word = f"{base}_{count}"
            count += 1
        used.add(word.lower())
        words.append(word)
    return words


def _as_word(text: str, pattern: re.Pattern[str] = WORD) -> str:
    """The text, or the nearest word.

    >>> [_as_word(text) for text in ("1: (-inf, 30]", "<=50K", "0-3", "1e5", "10th", "7")]
    ['1___-inf__30_', 'le_50K', '_0-3', '_1e5', '10th', '7']
    >>> [_as_word(text, IDENTIFIER) for text in ("0-3", "_x", "\u00e9")]
    ['s_0_3', 's__x', 's__']
    """
    if pattern.fullmatch(text):
        return text
    for sign, word in _SIGNS:
        text = text.replace(sign, word)
    strange = r"[^A-Za-z0-9_.-]" if pattern is WORD else r"[^A-Za-z0-9_]"
    word = re.sub(strange, "_", text)
    return word if pattern.fullmatch(word) else ("_" if pattern is WORD else "s_") + word
