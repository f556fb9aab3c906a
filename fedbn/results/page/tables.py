"""The report's tables as HTML: all of them without a script, the long ones cut."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from fedbn.results.page.states import BACKWARD, NONE, OPEN
from fedbn.results.page.svg import codes_at
from fedbn.results.page.words import number

PAGE = 200
"""Rows of a page of a long table."""


def page_table(
    header: Sequence[str], rows: Sequence[Sequence[Any]], name: str = "", decimals: int = 2
) -> str:
    """A table in a box of its own that scrolls; numbers to the right."""
    head = "".join(f'<th scope="col">{escape(str(cell))}</th>' for cell in header)
    lines = "".join(f"<tr>{''.join(_cell(cell, decimals) for cell in row)}</tr>" for row in rows)
    marked = f' id="{name}"' if name else ""
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(str(header[0]))}">'
        f"<table{marked}><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table></div>"
    )


def _cell(value: Any, decimals: int) -> str:
    if value is None:
        return "<td>-</td>"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return f'<td class="n">{number(value, decimals)}</td>'
    return f"<td>{escape(str(value))}</td>"


def site_table(content: Mapping[str, Any]) -> str:
    """One row per site; the script replaces it by one that can be sorted and moves with θ."""
    reading, state = content["chosen"]
    name = content["readings"][reading]["reading"]
    now = content["distances"][name][state]
    header = ["Site", "Search", "Rows", "Edges", "SMHD"]
    if content["gold"]:
        header.append("SMHD to gold")
    rows = []
    for site, distance in zip(content["sites"], now, strict=True):
        rows.append([site["name"], site["status"], site["rows"], site["edges"], distance])
        if content["gold"]:
            rows[-1].append(site["gold"])
    return page_table(header, rows, "site-table")


def edge_table(content: Mapping[str, Any]) -> str:
    """The edges of the consensus, the best supported first; the script lists all, with a filter."""
    codes = codes_at(content, *content["chosen"])
    header = ["From", "To", "Direction", "Support", "Deleted at θ", "θ, decimal", "Ψ", "Ψ, decimal"]
    gold = any(row[5] for row in content["pairs"])
    judged = content.get("variables") is not None
    rows: list[list[Any]] = []
    for row, code in zip(content["pairs"], codes, strict=True):
        if code != NONE:
            more = [*(row[6:9] if judged else ()), *([row[5]] if gold else ())]
            rows.append(_edge_row(content["names"], row, code) + more)
    rows.sort(key=lambda row: -(row[3] or 0.0))
    if judged:
        header += ["Sites", "Of", "Judges"]
    if gold:
        header.append("Against gold")
    left = len(rows) - PAGE
    note = (
        f"<p>The first {PAGE} of {len(rows)} edges; all are in edges.csv.</p>" if left > 0 else ""
    )
    return f'<div id="edge-table">{page_table(header, rows[:PAGE])}{note}</div>'


def _edge_row(names: Sequence[str], row: Sequence[Any], code: int) -> list[Any]:
    i, j, support, theta, psi = row[:5]
    if code == BACKWARD:
        i, j = j, i
    direction = "open" if code == OPEN else "compelled"
    return [names[i], names[j], direction, support, theta, fraction(theta), psi, fraction(psi)]


def fraction(text: str | None) -> float | None:
    """The decimal of a fraction's text.

    >>> fraction("2/5"), fraction(None)
    (0.4, None)
    """
    if text is None:
        return None
    above, _, below = text.partition("/")
    return int(above) / int(below or 1)


def parameter_tables(content: Mapping[str, Any]) -> str:
    """The first table as an example; the script shows that of the chosen variable."""
    known = [k for k, each in enumerate(content["parameters"]) if each is not None]
    if not known:
        return ""
    first = content["parameters"][known[0]]
    shown = _discrete(content, first) if "states" in first else _linear(content, first)
    name = escape(content["names"][known[0]])
    return f'<div id="parameter-table"><h3>{name}</h3>{shown}</div>'


def _discrete(content: Mapping[str, Any], table: Mapping[str, Any]) -> str:
    header = [*(content["names"][parent] for parent in table["parents"]), *table["states"]]
    return page_table(header, [[*values, *cells] for values, cells in table["rows"]], decimals=4)


def _linear(content: Mapping[str, Any], equation: Mapping[str, Any]) -> str:
    names = [content["names"][parent] for parent in equation["parents"]]
    terms = {"intercept": equation["intercept"], "standard deviation": equation["deviation"]}
    rows = [*terms.items(), *zip(names, equation["coefficients"], strict=True)]
    return page_table(["Term", "Value"], [[term, f"{value:g}"] for term, value in rows])
