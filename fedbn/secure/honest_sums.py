"""What sums over honest sites are: a sum that none can have ends the run.

Under masks nobody sees what one site adds, so a site may add any integers. What the server can see
is whether the sum is one of so many sites: costs, cuts and votes have bounds, votes on one pair go
together, counts are those of one table, and own scores are those of no more rows than were counted.
A sum beyond is refused, and nobody can say whose fault it is.

A site that lies within these bounds is not noticed. They cap the sum and no share of it: what the
others add is room for the liar, too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from fedbn.arrays import Floats, Ints
from fedbn.data.schema import Schema
from fedbn.errors import DataError, MessageError
from fedbn.networks.family_counts import Family, FamilyCounts
from fedbn.scores.family_scores import FIXED_POINT
from fedbn.scores.mixed import block_widths
from fedbn.scores.possible_sums import ROUNDING, require_of_a_table, require_of_indicators
from fedbn.scores.scatter import MAX_SITE_ROWS, Scatter

WRONG_SUMS = "some site sent wrong sums, and masks hide which one"


def require_costs(sums: Ints, n: int, total: int) -> None:
    """Raise MessageError unless all are costs of the order heuristic, over `n` variables and inputs
    of the weight `total`: an input's cost is -1 to n² / 4 + 2 n."""
    _require_within("costs of an order", sums, -total, total * (n * n // 4 + 2 * n))


def require_cuts(sums: Ints, n: int, total: int | Ints, *, clip: bool) -> None:
    """Raise MessageError unless all are minimum cuts in inputs of the weight `total`, one for all
    or one for each: a node has n - 1 neighbours at most, and a clipped cut is 0 or 1."""
    _require_within("minimum cuts", sums, 0, total * (1 if clip else n - 1))


def require_arcs(sums: Ints, sites: int) -> None:
    """Raise MessageError unless all are numbers of sites that have an arc."""
    _require_within("sites with an arc", sums, 0, sites)


def require_votes(
    moral: Ints, classes: Ints, total: int | Ints, of_classes: int | Ints | None = None
) -> None:
    """Raise MessageError unless these can be votes of inputs of the weight `total`: one for all
    pairs, or one for each, and then `of_classes` for those of `classes`.

    Parameters
    ----------
    moral : int64 [m], on moral edges.
    classes : int64 [5, k], on pairs (a, b): the moral edge; a -> b, b -> a and a - b in CPDAGs; the
        arc a -> b.
    """
    _require_within("votes on moral edges", moral, 0, total)
    edge, forward, back, reversible, arc = classes
    for of_arcs in (forward, back, reversible):
        _require_within("votes on arcs", of_arcs, 0, total if of_classes is None else of_classes)
    joined = forward + back + reversible
    holds = (joined <= edge) & (forward <= arc) & (arc <= forward + reversible)
    if not holds.all():
        worst = classes[:, np.flatnonzero(~holds)[0]].tolist()
        raise MessageError(
            _words(
                "votes on a pair",
                f"cannot be {worst} for a moral edge, a -> b, "
                "b -> a and a - b in classes, and the arc a -> b",
            )
        )


def require_one_table(counts: FamilyCounts) -> None:
    """Raise DataError unless every variable has the same states in the rows of all families."""
    known: dict[int, Ints] = {}
    sizes = counts.tables.schema.cardinalities
    for family in counts.tables.families:
        columns = (*family.parents, family.node)
        places, rows = counts.filled_cells(family)
        codes = np.unravel_index(places, tuple(int(sizes[column]) for column in columns))
        for column, of_rows in zip(columns, codes, strict=True):
            found = np.zeros(int(sizes[column]), np.int64)
            np.add.at(found, of_rows, rows)
            before = known.setdefault(column, found)
            if not np.array_equal(found, before):
                name = counts.tables.schema.names[column]
                raise DataError(
                    _words(
                        f"counts of {name!r}",
                        f"are {before.tolist()} in one family and {found.tolist()} in another",
                    )
                )


def require_own_scores(own: Ints, counts: FamilyCounts, ess: float) -> None:
    """Raise DataError unless these can be sums of the sites' own BDeu of the families.

    A row costs a site at most ln((ess + rows) cells / ess): it then counts a cell that it had not
    counted before, in a configuration that all its other rows have.

    Parameters
    ----------
    own : int64 [F], in units of 1 / FIXED_POINT nats.
    counts : over all sites.
    ess : of the own scores.
    """
    rows = counts.rows
    for family, score in zip(counts.tables.families, own.tolist(), strict=True):
        cells = counts.tables.cells_of(family)
        least = -rows * math.log((ess + rows) * cells / ess)
        if not least * FIXED_POINT - rows <= score <= 0:
            raise DataError(
                _words(
                    f"own scores of family {tuple(family)}",
                    f"must lie between {least:.6g} and 0 nats, not be {score / FIXED_POINT:.6g}",
                )
            )


def require_rows(rows: int, sites: int) -> None:
    """Raise MessageError unless so many sites can have so many rows."""
    _require_within("rows", np.array([rows]), sites, sites * MAX_SITE_ROWS)


def require_scatter(scatter: Scatter, schema: Schema) -> None:
    """Raise MessageError unless some sites' sums of products within each can add up to these."""
    require_products(scatter.products, ROUNDING * len(scatter.products))
    try:
        require_of_indicators(np.diag(scatter.products), scatter.rows, schema)
    except MessageError as error:
        raise MessageError(f"{error}: {WRONG_SUMS}") from None


def require_products(products: Floats, rounding: float) -> None:
    """Raise MessageError unless these can be sums of products of the columns of some table."""
    try:
        require_of_a_table(products, "all columns", rounding)
    except MessageError as error:
        raise MessageError(f"{error}: {WRONG_SUMS}") from None


def require_own_mixed_scores(
    own: Floats, families: Sequence[Family], schema: Schema, rows: int, sites: int
) -> None:
    """Raise DataError unless these can be sums of the sites' own mixed BIC of the families.

    What the others leave of a column is at least 1e-10 of its variance (`fedbn.scores.mixed`), and
    a variance lies between 16^-128 / rows and 16^128 (`fedbn.secure.scatter_sums`), so no row has
    more nats than the columns of the family allow.

    Parameters
    ----------
    own : float64 [F], nats.
    families : over the variables of the schema.
    rows, sites : of all sites together.
    """
    widths, log_rows = block_widths(schema), math.log(rows)
    a_column = 128 * math.log(16) + math.log(1e10) + log_rows
    for family, score in zip(families, own.tolist(), strict=True):
        width = sum(widths[column] for column in (family.node, *family.parents))
        most = rows * width * (a_column / 2 + 1.5) + sites * log_rows * width**2
        if not abs(score) <= most:
            raise DataError(
                _words(
                    f"own scores of family {tuple(family)}",
                    f"must lie between {-most:.6g} and {most:.6g} nats, not be {score:.6g}",
                )
            )


def _require_within(what: str, sums: Ints, least: int, most: int | Ints) -> None:
    wrong = np.flatnonzero((sums < least) | (sums > most))
    if wrong.size:
        first = wrong[0]
        bound = np.broadcast_to(most, sums.shape)[first]
        raise MessageError(
            _words(what, f"must lie between {least} and {bound}, not be {sums[first]}")
        )


def _words(what: str, otherwise: str) -> str:
    return f"the sums of {what} {otherwise}: {WRONG_SUMS}"
