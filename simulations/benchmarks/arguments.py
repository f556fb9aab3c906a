"""The benchmarks' options: what is out of range is a line of usage, not a traceback."""

from __future__ import annotations

import argparse


def parser_of(benchmark: str, words: str | None) -> argparse.ArgumentParser:
    """The parser of a benchmark's options, whose help begins with its docstring."""
    return argparse.ArgumentParser(
        prog=f"python -m simulations.benchmarks.{benchmark}",
        description=words,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def count(text: str) -> int:
    """A whole number of at least 1."""
    return _at_least(1, text)


def seed(text: str) -> int:
    """A whole number of at least 0."""
    return _at_least(0, text)


def counts(text: str) -> list[int]:
    """Whole numbers of at least 1, by commas."""
    return [count(part) for part in text.split(",")]


def share(text: str) -> float:
    """A number from 0 to below 1."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1:
        raise argparse.ArgumentTypeError(f"must be a number from 0 to below 1, not {text!r}")
    return value


def _at_least(minimum: int, text: str) -> int:
    if not text.strip().isdecimal() or int(text) < minimum:
        raise argparse.ArgumentTypeError(
            f"must be a whole number of at least {minimum}, not {text!r}"
        )
    return int(text)
