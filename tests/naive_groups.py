"""Slow, obvious twins of the groups of sites: distances, linkage, explained votes,
expected votes, exact tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import comb, exp, log, prod

from fedbn.graphs.dag import DAG
from fedbn.graphs.distances import smhd

Weighted = Sequence[tuple[DAG, Fraction]]


def mean_smhd_between(one: Weighted, other: Weighted) -> Fraction:
    """Of a structure of one site and one of the other, drawn by their shares."""
    return sum((p * q * smhd(a, b) for a, p in one for b, q in other), Fraction(0))


def turned(one: Sequence[float], other: Sequence[float]) -> float:
    """1 - cosine; of nothing and nothing 0, of nothing and something 1."""
    lengths = [sum(value**2 for value in row) ** 0.5 for row in (one, other)]
    if 0.0 in lengths:
        return float(lengths != [0.0, 0.0])
    return 1.0 - sum(a * b for a, b in zip(one, other, strict=True)) / prod(lengths)


def heights(distances: Sequence[Sequence[float]]) -> list[float]:
    """Heights of average linkage: join the two nearest sets, again and again."""
    sets = [[i] for i in range(len(distances))]
    found = []
    while len(sets) > 1:
        best, a, b = min(
            (sum(distances[i][j] for i in s for j in t) / (len(s) * len(t)), x, y)
            for x, s in enumerate(sets)
            for y, t in enumerate(sets)
            if x < y
        )
        found.append(best)
        sets[a] += sets.pop(b)
    return found


def explained(residuals: Sequence[Sequence[float]], part: Sequence[bool]) -> float:
    """Sum over columns and over i != j of u_i u_j r_i r_j, u the contrast of norm 1."""
    m, k = len(part), sum(part)
    raw = [(1 / k if inside else -1 / (m - k)) for inside in part]
    norm = sum(value**2 for value in raw) ** 0.5
    u = [value / norm for value in raw]
    return sum(
        u[i] * u[j] * a * b
        for i in range(m)
        for j in range(m)
        if i != j
        for a, b in zip(residuals[i], residuals[j], strict=True)
    )


def judges(x: int, y: int, has: Sequence[bool], near: Sequence[set[int]]) -> bool:
    """Whether a site has both ends, and no path between them runs over what it lacks alone."""
    if not (has[x] and has[y]):
        return False

    def leads(path: tuple[int, ...]) -> bool:
        if len(path) > 1 and y in near[path[-1]]:
            return True
        return any(leads((*path, v)) for v in near[path[-1]] if not has[v] and v not in path)

    return not leads((x,))


def pairs_apart(
    residuals: Sequence[Sequence[float]],
    judging: Sequence[Sequence[bool]],
    part: Sequence[bool],
) -> float:
    """Sums over i != j of c_i c_j r_i r_j of every pair that both sides have judges of, c the
    contrast of the means of these."""
    m, total = len(part), 0.0
    for p in range(len(residuals[0])):
        sides = [sum(judging[i][p] for i in range(m) if part[i] == side) for side in (True, False)]
        if 0 in sides:
            continue
        c = [
            (1 / sides[0] if part[i] else -1 / sides[1]) if judging[i][p] else 0.0 for i in range(m)
        ]
        r = [row[p] for row in residuals]
        total += sum(c[i] * c[j] * r[i] * r[j] for i in range(m) for j in range(m) if i != j)
    return total


def differing_pairs(shares: Sequence[Sequence[float]], part: Sequence[bool]) -> tuple[float, float]:
    """Sums over i != j of c_i c_j r_i r_j, c the contrast of means, by the side that has more."""
    m, k = len(part), sum(part)
    c = [(1 / k if inside else -1 / (m - k)) for inside in part]
    more = less = 0.0
    for column in zip(*shares, strict=True):
        r = [value - sum(column) / m for value in column]
        apart = sum(a * b for a, b in zip(c, r, strict=True))
        value = sum(c[i] * c[j] * r[i] * r[j] for i in range(m) for j in range(m) if i != j)
        more += value if apart > 1e-12 else 0.0
        less += value if apart < -1e-12 else 0.0
    return more, less


def expected_shares(
    column: Sequence[float],
    logs: Sequence[float],
    precisions: tuple[float, float],
    centre: float | None = None,
) -> list[float]:
    """Logistic regression of one pair with normal priors, by halving: the best intercept for a
    slope is where the likelihood's slope changes its sign, and so is the best slope. The intercept
    is that at `centre`, by default the mean."""
    middle = sum(logs) / len(logs) if centre is None else centre
    centred = [value - middle for value in logs]

    def found(a: float, b: float) -> list[float]:
        return [1 / (1 + exp(-(a + b * t))) for t in centred]

    def uphill(a: float, b: float) -> tuple[float, float]:
        left = [y - p for y, p in zip(column, found(a, b), strict=True)]
        along = sum(r * t for r, t in zip(left, centred, strict=True))
        return sum(left) - precisions[0] * a, along - precisions[1] * b

    def intercept(b: float) -> float:
        return _root(lambda a: uphill(a, b)[0])

    slope = _root(lambda b: uphill(intercept(b), b)[1])
    return found(intercept(slope), slope)


def _root(falling: Callable[[float], float]) -> float:
    low, high = -40.0, 40.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if falling(middle) > 0 else (low, middle)
    return (low + high) / 2


def regions(pairs: Sequence[tuple[int, int]]) -> int:
    """How many sets of pairs hang together: walk from a variable until nothing is new, again."""
    left, found = {v for pair in pairs for v in pair}, 0
    while left:
        seen, waiting = set(), [left.pop()]
        while waiting:
            at = waiting.pop()
            seen.add(at)
            waiting += [v for pair in pairs if at in pair for v in pair if v not in seen]
        left -= seen
        found += 1
    return found


def largest_explained(rows: Sequence[Sequence[float]]) -> float:
    """The most that any contrast of norm 1 explains: the largest root of the products' matrix,
    by power iteration on the matrix with its spectrum moved above 0."""
    m = len(rows)
    gram = [
        [sum(a * b for a, b in zip(rows[i], rows[j], strict=True)) * (i != j) for j in range(m)]
        for i in range(m)
    ]
    shift = sum(abs(value) for row in gram for value in row) + 1.0
    u = [1.0 + i / 7 for i in range(m)]
    for _ in range(3000):
        u = [sum(gram[i][j] * u[j] for j in range(m)) + shift * u[i] for i in range(m)]
        norm = sum(value**2 for value in u) ** 0.5
        u = [value / norm for value in u]
    return sum(gram[i][j] * u[i] * u[j] for i in range(m) for j in range(m))


def p_of_redrawn(
    observed: Sequence[Sequence[float]],
    redrawn: Sequence[Sequence[Sequence[float]]],
    part: Sequence[bool],
) -> float:
    """The share of redrawn residuals, less those of the means, that some contrast explains as much
    of as the split does of the means'; the split counts as one of the redrawn."""
    least = explained(observed, part)
    beyond = 0
    for rows in redrawn:
        apart = [
            [a - b for a, b in zip(row, own, strict=True)]
            for row, own in zip(rows, observed, strict=True)
        ]
        beyond += largest_explained(apart) >= least
    return (1 + beyond) / (1 + len(redrawn))


def bdeu(columns: Sequence[Sequence[int]], sizes: Sequence[int], ess: float) -> float:
    """ln of the marginal likelihood of the last column given the others, row after row: each
    row's prediction from the rows before."""
    q, r = prod(sizes[:-1]), sizes[-1]
    seen: dict[tuple[int, ...], int] = {}
    total = 0.0
    for row in zip(*columns, strict=True):
        before = sum(n for other, n in seen.items() if other[:-1] == row[:-1])
        total += log((seen.get(row, 0) + ess / (q * r)) / (before + ess / q))
        seen[row] = seen.get(row, 0) + 1
    return total


def fisher(votes: int, sites: int, other_votes: int, other_sites: int) -> Fraction:
    """Fisher's exact test, two-sided: all tables with these margins that are as rare or rarer."""
    total = votes + other_votes
    ways = {
        k: comb(sites, k) * comb(other_sites, total - k)
        for k in range(max(0, total - other_sites), min(sites, total) + 1)
    }
    rare = sum(w for w in ways.values() if w <= ways[votes])
    return Fraction(rare, sum(ways.values()))
