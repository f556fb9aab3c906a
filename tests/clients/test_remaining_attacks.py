"""What is still possible with counts once: the study measures it, and nothing more is possible."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from simulations.benchmarks.sites.remaining import ATTACKS, known_share

REMAINING = {"another_name", "two_columns", "rows_of_its_own"}


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    logging.disable(logging.ERROR)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.slow
@pytest.mark.parametrize("name", [attack.run.__name__ for attack in ATTACKS[:-1]])
def test_the_attacks_that_docs_name_and_no_others_know_the_state(name: str) -> None:
    (attack,) = (each for each in ATTACKS if each.run.__name__ == name)
    known, right = known_share(attack, 150, 2, 7)
    assert (known, right) == ((1, 1) if name in REMAINING else (0, 0))


@pytest.mark.slow
def test_what_a_structure_tells_of_one_row_more_is_right() -> None:
    known, right = known_share(ATTACKS[-1], 120, 2, 7)
    assert right == (1 if known else 0)
