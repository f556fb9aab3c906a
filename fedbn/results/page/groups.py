"""The report's part on groups of sites: their tree, two networks side by side, the differences.

The tree is drawn here; `groups.js` moves its cut, and draws the networks of two groups with what
only one of them has. A group is a colour, a mark and a number, so print and colour-blind readers
lose nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from fedbn.graphs.known_class import class_of
from fedbn.groups.grouping import Grouping
from fedbn.groups.tree import SiteTree
from fedbn.results.page.states import decimal
from fedbn.results.page.tables import PAGE, page_table
from fedbn.results.page.words import GroupWords
from fedbn.results.placement import printable_name
from fedbn.wording import count_of, list_some

MARKS = ("●", "■", "▲", "◆", "▼", "★")
"""Of groups 1, 2, ...; they begin again after the last, as the colours g0 to g5 do."""

LABELLED = 80
"""Up to so many sites are named in the tree."""

NAMED = 4
"""The first lines of the page describe groups up to this number."""

WIDTH = 640
"""Of the branches, in units that the page stretches to its own width."""

LABEL, NUMBER = 220, 48
"""Pixels beside them for a name, and for a number alone."""

APART = 3
"""Where sites are not named, so many rows lie between two numbers of groups."""

SCALES = {
    "mean SMHD": "Average linkage; the scale is the mean SMHD between the sites of two branches.",
    "1 - cosine beyond rows": "Average linkage. A structure depends on the number of rows that it "
    "was learned from; the tree shows what is left when this is taken out. The scale compares how "
    "the sites of two branches deviate from what is expected with their rows: 0 in the same pairs "
    "and in the same way, 1 independently, 2 in opposite ways (1 - cosine, mean over the sites).",
}
"""What the heights of the tree are -> how the page explains it."""

Pair = tuple[int, int]


def group_pairs(grouping: Grouping) -> list[Pair]:
    """The pairs i < j that the consensus of some group joins, ascending."""
    joined = np.logical_or.reduce([d.adjacency | d.adjacency.T for d in grouping.consensuses])
    return [(int(i), int(j)) for i, j in np.argwhere(np.triu(joined))]


def groups_content(grouping: Grouping, drawing: Mapping[str, Any]) -> dict[str, Any]:
    """What the page needs.

    drawing : boxes and paths, one path per pair of `group_pairs`.
    """
    pairs = group_pairs(grouping)
    tree = grouping.tree
    return {
        "lines": list(grouping.lines()),
        "sites": [printable_name(site) for site in tree.profiles.sites],
        "of": list(grouping.cut.groups),
        "alone": list(grouping.outliers),
        "leaves": tree.leaves(),
        "scale": _scale_of(tree),
        "joins": [[int(a), int(b), decimal(float(h))] for a, b, h, _ in tree.linkage.tolist()],
        "pairs": [list(pair) for pair in pairs],
        "codes": [
            _codes(grouping, group, pairs) for group in range(1, grouping.count + 1)
        ],
        "rows": [
            [d.group, d.other, d.kind, printable_name(d.variable), printable_name(d.second),
             d.mark, d.other_mark, f"{d.votes} of {d.sites}", f"{d.other_votes} of {d.other_sites}",
             f"{d.p:.2g}", f"{d.p_holm:.2g}"]
            for d in grouping.differences
        ],
        "families": [
            [f.group, f.other, printable_name(f.variable), f.differs, printable_name(f.parents),
             printable_name(f.other_parents)]
            for f in grouping.families if f.differs != "nothing"
        ],
        **{key: drawing[key] for key in ("labels", "boxes", "box_height", "paths", "size")},
    }  # fmt: skip


def group_words(grouping: Grouping) -> GroupWords:
    """The words on the groups of a run."""
    found = grouping.how == "auto"
    named = count_of(grouping.count, "population" if found else "group")
    many = f"{named} of sites{' found' if found else ', as asked for'}"
    if grouping.count == 1:
        return GroupWords("", f"{many}.")
    edges = [d for d in grouping.differences if d.kind == "edge"]
    turned = len(grouping.differences) - len(edges)
    differ = (
        f"{many}. They differ in {count_of(len(edges), 'edge')} and in "
        f"{count_of(turned, 'direction')}, see Groups of sites."
    )
    own = [
        f"group {grouping.title(g)} has {count_of(len(grouping.members(g)), 'site')} and "
        f"{count_of(dag.n_edges, 'edge')}"
        for g, dag in enumerate(grouping.consensuses, start=1)
    ]
    return GroupWords(
        f"{named} of sites, with a network each: {list_some(own, NAMED, quoted=False)}. ", differ
    )


def _scale_of(tree: SiteTree) -> str:
    """What the heights of the tree are."""
    return "1 - cosine beyond rows" if tree.profiles.shows_rows else "mean SMHD"


def _codes(grouping: Grouping, group: int, pairs: Sequence[Pair]) -> list[int]:
    """Of every pair in the class of a group's consensus: 0 not joined, 1 i -> j, 2 j -> i, 3 open,
    4 not known, as no site of the group has both."""
    dag = grouping.consensuses[group - 1]
    adjacency, seen = class_of(dag, grouping.known_in(group)).adjacency, grouping.seen_in(group)
    return [
        int(adjacency[i, j]) + 2 * int(adjacency[j, i]) or (0 if seen[i, j] else 4)
        for i, j in pairs
    ]


def groups_section(groups: Mapping[str, Any]) -> str:
    """The section's inside."""
    words = "".join(f"<p>{escape(line)}</p>" for line in groups["lines"])
    header = ("Group", "Other", "What", "Variable", "Second", "Group's", "Other's", "Votes",
              "Other's votes", "p", "p (Holm)")  # fmt: skip
    table = page_table(header, groups["rows"][:PAGE], "differences", decimals=4)
    families = _families(groups["families"])
    return f"{words}{_tree(groups)}{_pair(groups)}<h3>Differences</h3>{table}{families}"


def _families(rows: Sequence[Sequence[Any]]) -> str:
    """What differs by counts; families.csv has all scores."""
    if not rows:
        return ""
    header = ("Group", "Other", "Variable", "What differs", "Group's parents", "Other's parents")
    return "<h3>Variables that differ by counts</h3>" + page_table(header, rows[:PAGE], "families")


def _tree(groups: Mapping[str, Any]) -> str:
    """The tree, root at the left, and the slider of its cut."""
    m = len(groups["sites"])
    if m < 2:
        return ""
    bar = (
        '<p class="hint"><label for="cut">Groups that the tree is cut into</label> '
        f'<input type="range" id="cut" min="1" max="{m}" step="1" '
        f'value="{max(groups["of"]) + 1}"> <output id="cut-state" for="cut"></output> '
        '<button type="button" id="cut-back">Back to the groups of the run</button></p>'
        '<p class="hint">A click on a branch cuts the tree below it. On the keyboard, the arrow '
        "keys go from branch to branch, and Enter cuts.</p>"
    )
    return (
        f"<h3>Tree of the sites</h3><p>{SCALES[groups['scale']]} Numbers and marks are groups."
        f"</p>{bar}"
        f'<div class="scroll" tabindex="0" role="region" aria-label="Tree of the sites">'
        f"{_drawn_tree(groups, m)}</div>"
    )


def _drawn_tree(groups: Mapping[str, Any], m: int) -> str:
    """Branches as wide as the page allows, and beside them the sites in letters of one size."""
    step = 20 if m <= LABELLED else 6
    y = {site: 14.0 + step * place for place, site in enumerate(groups["leaves"])}
    height = 28 + step * (m - 1)
    words = _words_of_leaves(groups, m)
    leaves = "".join(_leaf(groups, site, y[site], words[site]) for site in groups["leaves"])
    return (
        f'<div id="tree" role="group" aria-label="Tree of {m} sites">'
        f'<svg class="branches" viewBox="0 0 {WIDTH} {height}" height="{height}" '
        f'preserveAspectRatio="none">{_branches(groups, m, y)}</svg>'
        f'<svg class="leaves" width="{LABEL if m <= LABELLED else NUMBER}" height="{height}">'
        f"{leaves}</svg></div>"
    )


def _branches(groups: Mapping[str, Any], m: int, leaves: Mapping[int, float]) -> str:
    """Tab leads to the root; the script goes on from there.

    leaves : site -> its height in the drawing.
    """
    top = max((join[2] for join in groups["joins"]), default=1.0) or 1.0
    y, x = dict(leaves), dict.fromkeys(range(m), float(WIDTH))
    sizes = dict.fromkeys(range(m), 1)
    of = dict(enumerate(groups["of"]))
    root = 2 * m - 2
    parts = []
    for node, (a, b, height) in enumerate(groups["joins"], start=m):
        x[node], y[node] = 10 + (WIDTH - 12) * (1 - height / top), (y[a] + y[b]) / 2
        of[node] = of[a] if of[a] == of[b] else -1
        sizes[node] = sizes[a] + sizes[b]
        kind = f"g{of[node] % len(MARKS)}" if of[node] >= 0 else "g-none"
        parts.append(
            f'<path class="branch {kind}" data-b="{node}" tabindex="{0 if node == root else -1}" '
            f'role="button" d="M{x[a]:g},{y[a]:g}H{x[node]:g}V{y[b]:g}H{x[b]:g}">'
            f"<title>{sizes[node]} sites, {groups['scale']} {height:g}</title></path>"
        )
    return "".join(parts)


def _words_of_leaves(groups: Mapping[str, Any], m: int) -> dict[int, str]:
    """Site -> mark, number and name; of many sites the number where a group begins."""
    found, last, before = {}, -APART, -1
    for place, site in enumerate(groups["leaves"]):
        group = groups["of"][site]
        mark = MARKS[group % len(MARKS)]
        if m <= LABELLED:
            alone = " stands alone" if site in groups["alone"] else ""
            found[site] = f"{mark} {group + 1} {escape(groups['sites'][site])}{alone}"
        elif group != before and place - last >= APART:
            found[site], last = f"{mark} {group + 1}", place
        else:
            found[site] = mark
        before = group
    return found


def _leaf(groups: Mapping[str, Any], site: int, y: float, words: str) -> str:
    group = groups["of"][site]
    alone = " stands alone" if site in groups["alone"] else ""
    bare = " bare" if words in MARKS else ""
    return (
        f'<text class="leaf g{group % len(MARKS)}{bare}" data-s="{site}" x="6" y="{y:g}">'
        f"<title>{escape(groups['sites'][site])}{alone}</title>{words}</text>"
    )


def _pair(groups: Mapping[str, Any]) -> str:
    """Where the script draws the networks of two groups."""
    count = max(groups["of"]) + 1
    if count < 2:
        return ""
    is_known = all(4 not in codes for codes in groups["codes"])
    unknown = "" if is_known else " Faint dots: no site of one of the groups has both variables."
    options = [f'<option value="{g}">{g + 1}</option>' for g in range(count)]
    chosen = [o.replace("<option", "<option selected", 1) for o in options]
    left = "".join([chosen[0], *options[1:]])
    right = "".join([options[0], chosen[1], *options[2:]])
    return (
        '<div class="hint"><h3>Two groups of the run, side by side</h3>'
        f'<p><label>Group <select id="group-left">{left}</select></label> and '
        f'<label>group <select id="group-right">{right}</select></label>. Thick and solid: only '
        "this group has the edge. Dashed: only the other has it. Dotted: the direction differs. "
        f"Thin: both.{unknown}</p>"
        '<div class="pair"><div class="drawing" id="net-left" tabindex="0" '
        'role="region" aria-label="Network of the first group"></div><div class="drawing" '
        'id="net-right" tabindex="0" role="region" aria-label="Network of the second group"></div>'
        "</div></div>"
    )
