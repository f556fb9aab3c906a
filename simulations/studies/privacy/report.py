"""The tables of the study."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from simulations.studies.privacy.figures import draw_flips, draw_shadow, draw_utility
from simulations.study_cases import Row
from simulations.study_report import Section

HERE = Path(__file__).parent
EXPECTED: dict[str, Any] = json.loads((HERE / "expected.json").read_text(encoding="utf-8"))
UNIT = (
    "ε is per row of one site's table (one row added or removed) at δ 1e-6, against a curious "
    "server, curious sites and the public. Means over seeds; the noise is seeded, so that the "
    "study can be repeated."
)


def utility_sections(rows: Sequence[Row], folder: Path) -> list[Section]:
    """Sites and consensus by mechanism, and where privacy costs less than being alone."""
    lines = []
    for key, group in _groups(rows):
        f1 = _mean(group, "f1")
        lines.append(
            [
                *key,
                len(group),
                _mean(group, "site_f1"),
                _mean(group, "site_smhd"),
                f1,
                _mean(group, "smhd"),
                _mean(group, "shd"),
                _mean(group, "site_seconds"),
                _band(key, f1),
            ]
        )
    header = ["network", "rows", "sites", "mechanism", "ε", "seeds", "site F1", "site SMHD"]
    header += ["F1", "SMHD", "SHD", "CPU s per site", "expected F1"]
    return [
        Section(
            "Utility",
            f"{UNIT} F1 is that of the skeleton, SMHD and SHD are those to the true network; of "
            "the mean site, and of the consensus.",
            header,
            lines,
            [draw_utility(rows, folder)],
        ),
        front_section(rows),
        _against_alone(rows),
    ]


def front_section(rows: Sequence[Row]) -> Section:
    """For every ε and number of rows, the private mechanisms that no other one dominates.

    Over the seeds that all of them have; dominated: no better in F1 nor SMHD, and worse in one.
    """
    lines = []
    keys = ("network", "rows", "sites", "epsilon")
    private = [row for row in rows if row["mechanism"] != "ges"]
    for cell in sorted({tuple(row[key] for key in keys) for row in private}):
        here = [row for row in private if tuple(row[key] for key in keys) == cell]
        found = {
            r["mechanism"]: {s["seed"]: s for s in here if s["mechanism"] == r["mechanism"]}
            for r in here
        }
        seeds = set.intersection(*(set(own) for own in found.values()))
        if len(found) < 2 or not seeds:
            continue
        points = {
            name: (_mean([own[s] for s in seeds], "f1"), -_mean([own[s] for s in seeds], "smhd"))
            for name, own in sorted(found.items())
        }
        front = [
            name
            for name, (f1, smhd) in points.items()
            if not any(a >= f1 and b >= smhd and (a, b) != (f1, smhd) for a, b in points.values())
        ]
        shown = [f"{f1:.2f}, {-smhd:.0f}" for f1, smhd in points.values()]
        lines.append([*cell, len(seeds), *shown, " and ".join(front)])
    return Section(
        "Pareto front",
        "Of the private mechanisms, F1 and SMHD of the consensus, and those that no other one "
        "equals or beats in both.",
        [
            "network",
            "rows",
            "sites",
            "ε",
            "seeds",
            *sorted({r["mechanism"] for r in private}),
            "on the front",
        ],
        lines,
    )


def _against_alone(rows: Sequence[Row]) -> Section:
    """The smallest ε at which the consensus is nearer to the truth than one site without noise."""
    lines = []
    mechanisms = sorted({row["mechanism"] for row in rows} - {"ges"})
    keys = list(dict.fromkeys((r["network"], r["rows"], r["sites"]) for r in rows))
    for key in keys:
        here = [r for r in rows if (r["network"], r["rows"], r["sites"]) == key]
        plain = [r for r in here if r["mechanism"] == "ges"]
        if not plain:
            continue
        alone = _mean(plain, "site_smhd")
        line = [*key, alone]
        for mechanism in mechanisms:
            own = [r for r in here if r["mechanism"] == mechanism]
            good = [
                e
                for e in sorted({r["epsilon"] for r in own})
                if _mean([r for r in own if r["epsilon"] == e], "smhd") < alone
            ]
            line.append(good[0] if good else "none of these")
        lines.append(line)
    return Section(
        "Smallest ε at which the consensus beats a site alone",
        "In SMHD to the truth, against the mean site's GES without privacy.",
        ["network", "rows", "sites", "SMHD of a site alone", *mechanisms],
        lines,
    )


def sum_sections(rows: Sequence[Row]) -> list[Section]:
    """What secure sums cost, and what votes point at."""
    header = [
        "network",
        "sites",
        "look-ahead",
        "edges of G+",
        "equal",
        "rounds",
        "MB up",
        "MB down",
    ]
    votes = ["network", "sites", "moral edges", "with one vote", "with all votes but one"]
    return [
        Section(
            "Secure sums",
            "The same consensus from masked sums alone; against a curious server, not against "
            "the server with all other sites. No ε: nothing is random in the result.",
            header,
            [
                [
                    r["network"], r["sites"], r["look_ahead"], r["union_edges"], str(r["equal"]),
                    r["rounds"], r["up_mb"], r["down_mb"],
                ]
                for r in rows
            ],
        ),
        Section(
            "Votes that point at one site",
            "Moral edges that one site alone has, or alone lacks: sums hide whose they are, but "
            "not from somebody who knows a site's practice.",
            votes,
            [
                [r["network"], r["sites"], r["moral_edges"], r["one_vote"], r["all_votes_but_one"]]
                for r in rows
                if r["look_ahead"] == min(other["look_ahead"] for other in rows)
            ],
        ),
    ]  # fmt: skip


def leak_sections(rows: Sequence[Row], folder: Path) -> list[Section]:
    """The strong and the weak membership game, sets, re-identification."""
    games = {
        game: [row for row in rows if row["game"] == game]
        for game in ("flips", "sets", "shadow", "reidentify")
    }
    return [
        _flip_section(games["flips"]),
        _set_section(games["sets"], [draw_flips(rows, folder)]),
        _shadow_section(games["shadow"], [draw_shadow(rows, folder)]),
        _reidentification_section(games["reidentify"]),
    ]


def _flip_section(rows: Sequence[Row]) -> Section:
    return Section(
        "Flip rate: the adversary knows all rows but one",
        "Removals of one row that change the equivalence class of GES, with the 95 % interval, "
        "and the changed edges of the moral graph. A row weight of k counts every row k times.",
        ["network", "rows", "row weight", "changed", "of", "low", "high", "mean", "largest"],
        _cells(
            rows,
            *("network", "rows", "row_weight", "flips", "of", "low", "high"),
            *("mean_change", "largest_change"),
        ),
    )


def _set_section(rows: Sequence[Row], figures: Sequence[str]) -> Section:
    return Section(
        "Credible sets: the same, by what is sent with them",
        "Removals that change the set of classes, or the message with exact weights, weights "
        "of two digits, uniform weights.",
        ["network", "rows", "BF", "of", "set", "exact", "two digits", "uniform"],
        _cells(rows, "network", "rows", "bf", "of", "sets", "exact", "two digits", "uniform"),
        figures,
    )


def _shadow_section(rows: Sequence[Row], figures: Sequence[str]) -> Section:
    return Section(
        "Shadow membership: the adversary knows the population",
        "AUC with half its 95 % interval, and the members found where 1 % of the others are "
        "accused. A canary has the rarest state of every column.",
        ["network", "rows", "canary", "mechanism", "ε", "AUC", "±", "TPR", "tables"],
        _cells(
            rows,
            *("network", "rows", "canary", "mechanism", "epsilon", "auc", "error", "tpr", "tables"),
        ),
        figures,
    )


def _reidentification_section(rows: Sequence[Row]) -> Section:
    return Section(
        "Re-identification: a second run of the same sites on fresh rows",
        "Sites whose second structure is nearest to their own first one. α is that of the "
        "Dirichlet distribution over latent clusters; none: sites are alike.",
        ["network", "rows", "α", "mechanism", "ε", "found", "of", "chance"],
        _cells(rows, "network", "rows", "alpha", "mechanism", "epsilon", "found", "of", "chance"),
    )


def _cells(rows: Sequence[Row], *names: str) -> list[list[object]]:
    """These fields of every row; a yes or no as a word."""
    return [
        [str(row[name]) if isinstance(row[name], bool) else row[name] for name in names]
        for row in rows
    ]


def audit_sections(rows: Sequence[Row]) -> list[Section]:
    """Mechanism, claim, bound, verdict."""
    return [
        Section(
            "Audits",
            "Each audit tries to refute the claimed ε. `bound` is the largest lower bound on the "
            "true ε (95 % for all audits of a line together); replays have none: they compare "
            "candidate lists and ranges exactly. Every broken mechanism must be caught, no right "
            "one ever; the audit end to end is too weak to catch anything and is reported only.",
            ["mechanism", "fault", "audit", "claimed ε", "bound", "caught", "of", "as it must be"],
            [
                [
                    r["mechanism"], r["fault"], r["audit"], r["epsilon"], r["bound"], r["caught"],
                    r["audits"], str((r["caught"] > 0) == (r["fault"] != "none")),
                ]
                for r in rows
            ],
        )
    ]  # fmt: skip


def _groups(rows: Sequence[Row]) -> list[tuple[tuple[Any, ...], list[Row]]]:
    """Rows that differ only in their seed."""
    names = ("network", "rows", "sites", "mechanism", "epsilon")
    keys = list(dict.fromkeys(tuple(row[name] for name in names) for row in rows))
    return [
        (key, [row for row in rows if tuple(row[name] for name in names) == key]) for key in keys
    ]


def _mean(rows: Sequence[Row], name: str) -> float:
    return float(np.mean([row[name] for row in rows]))


def _band(key: tuple[Any, ...], f1: float) -> str:
    """The expected F1 of this line, and whether it is within 0.1 of it."""
    wanted = EXPECTED["f1"].get("/".join("-" if part is None else f"{part}" for part in key))
    if wanted is None:
        return ""
    return f"{wanted:.2f}" if abs(f1 - wanted) <= EXPECTED["band"] else f"{wanted:.2f}, missed"
