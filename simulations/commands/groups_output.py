"""What `fuse` and `simulate` say of groups of sites."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fedbn.results.groups import groups_facts

if TYPE_CHECKING:
    from fedbn.groups.grouping import Grouping
    from fedbn.results.outcome import Outcome


def print_groups(grouping: Grouping | None) -> None:
    """The three lines, where groups were asked for."""
    for line in () if grouping is None else grouping.lines():
        print(line)


def groups_json(outcome: Outcome) -> dict[str, Any]:
    """The key that --json has then."""
    if outcome.grouping is None:
        return {}
    return {"grouping": groups_facts(outcome.grouping)}
