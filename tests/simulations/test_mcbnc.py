"""The reproduction of the MCBNC paper: statistics, cells, claims, report."""

from __future__ import annotations

import numpy as np
import pytest

from simulations.mcbnc_aaai26.statistics import compared, friedman, holm, ranks, win_tie_loss

# Table 2 of arXiv 2504.00467: rank sums over 90 cases (mean ranks 1.40, 1.91, 2.69 and 1.58, 1.70,
# 2.72), and the p-values that it prints.
SMHD = (126.0, 171.5, 242.5)
BDEU = (142.0, 153.0, 245.0)


@pytest.mark.parametrize(
    ("sums", "printed"),
    [(SMHD, ("2.32e-17", "6.95e-04", "7.68e-18")), (BDEU, ("3.66e-16", "4.12e-01", "3.25e-14"))],
)
def test_the_papers_p_values_follow_from_its_rank_sums(
    sums: tuple[float, ...], printed: tuple[str, ...]
) -> None:
    control, second, third = holm(sums, 90)
    assert control is None
    found = (friedman(sums, 90), second, third)
    assert tuple(f"{p:.2e}" for p in found) == printed


def test_the_papers_wins_ties_losses_are_its_mean_rank() -> None:
    """1 + (losses + ties / 2) / 90 of the first against the two others."""
    for first, second, total in (
        ((61, 13, 16), (68, 17, 5), SMHD[0]),
        ((48, 9, 33), (71, 9, 10), BDEU[0]),
    ):
        assert 90 + sum(losses + ties / 2 for _, ties, losses in (first, second)) == total


def test_ranks_share_ties_up_to_rounding() -> None:
    table = np.array([[1.0, 1.0 + 1e-12, 3.0], [5.0, 4.0, 4.5]])
    assert ranks(table).tolist() == [[1.5, 1.5, 3.0], [3.0, 1.0, 2.0]]
    assert win_tie_loss([1.0, 2.0, 3.0], [1.0, 3.0, 1.0]) == (1, 1, 1)


def test_a_comparison_puts_the_best_first() -> None:
    found = compared({"a": [3.0, 3.0, 1.0], "b": [1.0, 1.0, 1.0], "c": [2.0, 2.0, 9.0]})
    assert list(found.mean_ranks) == ["b", "c", "a"]
    assert found.mean_ranks["b"] == pytest.approx((1 + 1 + 1.5) / 3)
    assert found.against == {"a": (2, 1, 0), "c": (3, 0, 0)}
    assert found.holm["b"] is None
    assert 0.0 < found.friedman < 1.0
