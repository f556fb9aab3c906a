"""Weights of the inputs of a fusion, kept exact.

A weight is a positive int or Fraction, so that equal sums are equal and ties are true ties. Real
weights, those of the credible DAGs of a client, are rounded to integers that sum to 10^6 per
client, by the largest remainder.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from fedbn.errors import ConfigError
from fedbn.graphs.dag import DAG
from fedbn.wording import count_of

Weight = int | Fraction

UNITS_PER_CLIENT = 10**6


def integer_weights(
    client_weights: Sequence[Sequence[float | Fraction]], dags: Sequence[Sequence[DAG]]
) -> tuple[tuple[int, ...], ...]:
    """Integer weights that sum to 10^6 for every client (largest remainder).

    Parameters
    ----------
    client_weights : per client, the real weight (>= 0, finite, not all 0) of each of its DAGs.
    dags : per client, its DAGs; equal remainders go to the DAG whose edges come first as text.

    Returns
    -------
    Per client, one int >= 0 per DAG. A DAG whose share rounds to 0 is to be left out.

    Raises
    ------
    ConfigError : lengths differ, or a weight is negative, not finite, or all are 0.

    Examples
    --------
    >>> ab, ba = (DAG.from_edges("ab", [edge]) for edge in ("ab", "ba"))
    >>> integer_weights([[1.0, 2.0]], [[ab, ba]])
    ((333333, 666667),)
    """
    if len(client_weights) != len(dags):
        raise ConfigError(
            f"weights must be given for every client: {len(client_weights)} for {len(dags)} clients"
        )
    return tuple(_largest_remainder(w, d) for w, d in zip(client_weights, dags, strict=True))


def _largest_remainder(weights: Sequence[float | Fraction], dags: Sequence[DAG]) -> tuple[int, ...]:
    if len(weights) != len(dags):
        raise ConfigError(f"one weight per DAG is needed: {len(weights)} for {len(dags)} DAGs")
    for weight in weights:
        if not math.isfinite(weight) or weight < 0:
            raise ConfigError(f"a weight must be finite and not negative, got {weight!r}")
    exact = [Fraction(weight) for weight in weights]
    total = sum(exact, Fraction(0))
    if total == 0:
        raise ConfigError(f"the weights of a client must not all be 0, got {list(weights)!r}")
    shares = [UNITS_PER_CLIENT * weight / total for weight in exact]
    units = [int(share) for share in shares]
    ranked = sorted(
        range(len(dags)), key=lambda i: (units[i] - shares[i], dags[i].edges, dags[i].names)
    )
    for i in ranked[: UNITS_PER_CLIENT - sum(units)]:
        units[i] += 1
    return tuple(units)


def checked_weights(weights: Sequence[Weight] | None, count: int) -> tuple[Fraction, ...]:
    """One positive Fraction per input; 1 each when none are given.

    Raises
    ------
    ConfigError : a weight is missing, not exact (int or Fraction), or not positive.
    """
    if weights is None:
        return (Fraction(1),) * count
    if len(weights) != count:
        raise ConfigError(
            f"one weight per DAG is needed: {len(weights)} for {count_of(count, 'DAG')}"
        )
    for weight in weights:
        if isinstance(weight, bool) or not isinstance(weight, (int, Fraction)) or weight <= 0:
            raise ConfigError(f"a weight must be a positive int or Fraction, got {weight!r}")
    return tuple(Fraction(weight) for weight in weights)


def common_scale(weights: Sequence[Fraction]) -> tuple[tuple[int, ...], Fraction]:
    """Coprime integers proportional to `weights`, and the weight that the integer 1 stands for."""
    denominator = math.lcm(*(weight.denominator for weight in weights))
    scaled = [weight.numerator * (denominator // weight.denominator) for weight in weights]
    divisor = math.gcd(*scaled)
    return tuple(value // divisor for value in scaled), Fraction(divisor, denominator)
