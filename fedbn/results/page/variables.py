"""Who measures what, on the page: a matrix, pairs not known, what would have to be measured.

Only where sites have different variables.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fedbn.results.outcome import Outcome
from fedbn.results.page.tables import PAGE, page_table
from fedbn.results.placement import printable_name
from fedbn.results.variables import collect_rows, unknown_pairs
from fedbn.wording import count_of

DRAWN = 60
"""At most so many pairs that are not known are drawn."""


def unknown_of(outcome: Outcome) -> tuple[tuple[str, str], ...]:
    """The pairs that are not known and are drawn: none where there are too many."""
    if outcome.is_whole:
        return ()
    pairs = unknown_pairs(outcome)
    return pairs if len(pairs) <= DRAWN else ()


def variables_content(outcome: Outcome, paths: list[str]) -> dict[str, Any]:
    """Which site has which variables, pairs that are not known, and what would decide most.

    paths : how the pairs of `unknown_of` are drawn.
    """
    if outcome.is_whole:
        return {}
    place = {name: v for v, name in enumerate(outcome.consensus.dag.names)}
    drawn = [[place[a], place[b]] for a, b in unknown_of(outcome)]
    return {
        "variables": {
            "sites": [printable_name(client.label) for client in outcome.clients],
            "seen": [[v for v, has in enumerate(row) if has] for row in outcome.seen.tolist()],
            "n_unknown": len(unknown_pairs(outcome)),
            "unknown": [[*pair, path] for pair, path in zip(drawn, paths, strict=True)],
            "collect": [
                [printable_name(row.site), printable_name(row.column), row.pairs, row.edges]
                for row in collect_rows(outcome)[:PAGE]
            ],
        }
    }


def variables_section(content: Mapping[str, Any]) -> str:
    """The matrix, and the list of what one more column would decide; HTML that is safe."""
    told = content["variables"]
    seen = [set(own) for own in told["seen"]]
    rows = [
        [name, sum(v in own for own in seen), *("●" if v in own else "" for own in seen)]
        for v, name in enumerate(content["names"])
    ]
    parts = [
        "<p>Sites have different variables. Whoever lacks a variable has no vote on its edges: "
        "supports are shares of the sites that have both ends.</p>",
        page_table(["Variable", "Sites", *told["sites"]], rows),
    ]
    if told["n_unknown"]:
        few = "" if told["unknown"] else " They are too many to be drawn."
        parts.append(
            "<p class='warning'>No site has both variables of "
            f"{count_of(told['n_unknown'], 'pair')} (status “never together” in edges.csv), so it "
            f"is not known what is joined there.{few}</p>"
        )
    if told["collect"]:
        header = ["Site", "Would have to measure", "Pairs that would be seen",
                  "Edges that would have a judge"]  # fmt: skip
        parts.append(
            "<h3>What one more column would decide</h3>" + page_table(header, told["collect"])
        )
    return "".join(parts)
