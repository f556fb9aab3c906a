"""Columns of numbers on the page: where their values lie, in the network and at each site.

Of the network nine tenths of the distribution and its median, as it answers without evidence; of a
site its mean and one standard deviation to both sides, as far as the site let them leave for the
parameters. No value of a row is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from fedbn.errors import QueryError, ResultsError
from fedbn.networks.conditional_gaussian import ConditionalGaussianNetwork
from fedbn.networks.network import BayesianNetwork
from fedbn.results.placement import printable_name

if TYPE_CHECKING:
    from fedbn.networks.conditional_gaussian import Network

CELLS = 2_000_000
"""Distributions are computed while these have at most so many cells."""

SHOWN = 60
"""Columns of numbers that are drawn."""

SITES = 40
"""Sites that are drawn in each."""

_NINE_TENTHS = 1.6448536269514722
"""Standard deviations of a normal from its mean to its quantiles of .05 and .95."""

_WIDTH, _LEFT, _RIGHT, _ROW = 480, 150, 20, 18

Row = tuple[str, float, float, float]
"""A label, the least, the middle and the greatest that is drawn."""


def spreads_in(run: Mapping[str, Any], source: str) -> dict[str, dict[str, tuple[float, float]]]:
    """Number -> site -> mean and standard deviation, as the content of a `run.json` has them.

    Raises
    ------
    ResultsError : it has them in another form than `ParameterSources.to_dict`; names the source.
    """
    told = run.get("parameters") or {}
    found = told.get("spreads", {}) if isinstance(told, Mapping) else {}
    try:
        return {
            variable: {
                site: (float(mean), float(deviation)) for site, (mean, deviation) in sites.items()
            }
            for variable, sites in found.items()
        }
    except (AttributeError, TypeError, ValueError):
        raise ResultsError(
            f'{source}: "spreads" must be {{variable: {{site: [mean, standard deviation]}}}}, '
            f"found {found!r:.80}"
        ) from None


def numbers_content(
    network: Network | None, spreads: Mapping[str, Mapping[str, tuple[float, float]]]
) -> list[dict[str, Any]]:
    """Per column of numbers its name and the rows that are drawn; nothing where none is known."""
    found = []
    names = () if network is None else network.schema.numbers
    for name in [*names, *(each for each in spreads if each not in names)][:SHOWN]:
        rows = [row for row in (_of_network(network, name),) if row is not None]
        sites = sorted(spreads.get(name, {}).items())
        for site, (mean, deviation) in sites[:SITES]:
            rows.append((printable_name(site), mean - deviation, mean, mean + deviation))
        if rows:
            shown = [[label, *map(_short, cells)] for label, *cells in rows]
            found.append(
                {"name": printable_name(name), "rows": shown, "more": max(0, len(sites) - SITES)}
            )
    return found


def _of_network(network: Network | None, name: str) -> Row | None:
    """What the network says of a number without evidence; None if that takes too much memory."""
    from fedbn.inference.conditional import query_conditional
    from fedbn.inference.gaussian import query_gaussian

    if network is None or isinstance(network, BayesianNetwork) or name not in network.names:
        return None
    label = "all, by the network"
    try:
        if isinstance(network, ConditionalGaussianNetwork):
            told = query_conditional(network, [name], max_cells=CELLS).posteriors[name]
            low, middle, high = (told[f"quantile {share}"] for share in ("0.05", "0.5", "0.95"))
            return label, low, middle, high
        told = query_gaussian(network, [name], max_cells=CELLS).posteriors[name]
    except QueryError:
        return None
    spread = _NINE_TENTHS * math.sqrt(told["variance"])
    return label, told["mean"] - spread, told["mean"], told["mean"] + spread


def _short(value: float) -> float:
    return float(f"{value:.5g}")


def numbers_section(numbers: Sequence[Mapping[str, Any]]) -> str:
    """One drawing for each column; HTML that is safe, empty where there is no column."""
    if not numbers:
        return ""
    text = (
        "<p class='hint'>All, by the network: from the quantile of 0.05 to that of 0.95, a tick at "
        "the median. A site: its mean, and one standard deviation to both sides.</p>"
    )
    return text + "".join(map(_drawing, numbers))


def _drawing(column: Mapping[str, Any]) -> str:
    rows = column["rows"]
    low = min(row[1] for row in rows)
    high = max(row[3] for row in rows)
    scale = (_WIDTH - _LEFT - _RIGHT) / ((high - low) or 1.0)

    def at(value: float) -> str:
        return f"{_LEFT + (value - low) * scale:.1f}"

    height = _ROW * (len(rows) + 1)
    parts = []
    for place, (label, least, middle, greatest) in enumerate(rows):
        y = _ROW * place + _ROW / 2
        parts.append(
            f'<text x="{_LEFT - 8}" y="{y + 4:g}" text-anchor="end">{escape(label[:24])}</text>'
            f'<line x1="{at(least)}" x2="{at(greatest)}" y1="{y:g}" y2="{y:g}" '
            'stroke="currentColor" stroke-width="3" opacity="0.45"/>'
            f'<line x1="{at(middle)}" x2="{at(middle)}" y1="{y - 6:g}" y2="{y + 6:g}" '
            'stroke="currentColor" stroke-width="2"/>'
            f"<title>{escape(label)}: {middle:g}, from {least:g} to {greatest:g}</title>"
        )
    y = height - 4
    parts.append(f'<text x="{_LEFT}" y="{y}">{low:g}</text>')
    parts.append(f'<text x="{_WIDTH - _RIGHT}" y="{y}" text-anchor="end">{high:g}</text>')
    more = f"<p>{column['more']} more sites are not drawn.</p>" if column["more"] else ""
    name = escape(column["name"])
    drawn = "".join(f"<g>{part}</g>" for part in parts)
    return (
        f"<h3>{name}</h3>"
        f'<svg class="numbers" viewBox="0 0 {_WIDTH} {height}" role="img" '
        f'aria-label="Where the values of {escape(column["name"], quote=True)} lie" '
        f'font-size="12" fill="currentColor">{drawn}</svg>'
        f"{more}"
    )
