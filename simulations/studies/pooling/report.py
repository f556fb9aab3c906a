"""Tables of the study: means over seeds with intervals, and shares of the distance closed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from scipy.stats import t

from simulations.studies.pooling.criteria import criteria_section
from simulations.studies.pooling.figures import draw_alike, draw_differing
from simulations.studies.pooling.shares import MIN_DISTANCE, groups, way_share
from simulations.studies.pooling.untuned import untuned_sections
from simulations.study_cases import Row
from simulations.study_report import Section

WAYS = ("site", "today", "vote", "ladder", "counts", "climb", "pooled")
SENT = ("ladder", "counts", "climb")
FIXED = ("k_1", "k_1.5", "k_2", "k_2.5", "k_3")


def sections(part: str, rows: Sequence[Row], folder: Path) -> list[Section]:
    """The sections of one part of the study."""
    if part == "alike":
        figure = draw_alike(rows, folder)
        return [
            criteria_section(part, rows),
            _distances("Sites alike: SMHD / SHD to the truth", rows, ("network", "rows"), figure),
            _shares(rows),
            _fixed_section(rows),
            _scores(rows),
            _costs(rows),
        ]
    if part == "sites":
        return [_distances("More and fewer sites", rows, ("network", "sites", "rows"))]
    if part == "differing":
        figure = draw_differing(rows, folder)
        by = ("network", "rows", "concentration")
        title = "Sites with parameters of their own"
        return [criteria_section(part, rows), _distances(title, rows, by, figure)]
    if part == "learners":
        return [_distances("Other learners and scores", rows, ("network", "learner", "score"))]
    if part == "divided":
        return [_distances("Rows divided by latent clusters", rows, ("network", "alpha"))]
    if part == "untuned":
        return untuned_sections(rows)
    return [criteria_section(part, rows), _mechanisms(rows)]


def _with_interval(values: Sequence[float]) -> str:
    mean, number = float(np.mean(values)), len(values)
    if number < 2:
        return f"{mean:.1f}"
    half = t.ppf(0.975, number - 1) * np.std(values, ddof=1) / np.sqrt(number)
    return f"{mean:.1f} ± {half:.1f}"


def _distance(rows: Sequence[Row], way: str) -> str:
    other = float(np.mean([row[f"{way}_shd"] for row in rows]))
    return f"{_with_interval([row[way] for row in rows])} / {other:.1f}"


def _distances(title: str, rows: Sequence[Row], by: Sequence[str], figure: str = "") -> Section:
    table = [
        [
            *key,
            len(own),
            *(_distance(own, way) for way in WAYS),
        ]
        for key, own in groups(rows, by)
    ]
    text = (
        "SMHD with its 95 % interval over the seeds (Student's t) / SHD. site: the mean site "
        "alone, k = 1; today: its consensus; vote: bnlearn-style averaging of the same "
        "structures; ladder: structures alone, k by expected chance pairs; counts: one request; "
        "climb: at most ten more; pooled: the same learner on all rows."
    )
    return Section(title, text, (*by, "seeds", *WAYS), table, (figure,) if figure else ())


def _shares(rows: Sequence[Row]) -> Section:
    table: list[list[object]] = []
    for key, own in groups(rows, ("network", "rows")):
        shares = [way_share(own, way) for way in SENT]
        if shares[0] is not None:
            table.append([*key, *map(_share_and_bytes, shares, _bytes(own))])
    usual = [r for r in rows if r["rows"] >= 500]
    means = [_mean_share(usual, way) for way in SENT]
    table.append(["mean of those with 500 rows or more", "", *means])
    capped = [_mean_share(usual, way, cap=1.0) for way in SENT]
    table.append(["the same, none counted above 100 %", "", *capped])
    text = (
        "Share of the distance from today's consensus to pooled GES that is closed, of mean SMHD "
        f"over the seeds, where that distance is at least {MIN_DISTANCE:g}, and what one site "
        "sends for it in all. Above 100 %: nearer to the truth than GES on the pooled rows."
    )
    return Section("What share of the distance is closed", text, ("network", "rows", *SENT), table)


def _bytes(rows: Sequence[Row]) -> list[float]:
    """What one site sends in all, in the mean, for each way of SENT: structures and answers."""
    answers = [0.0, *(np.mean([r[f"{way}_bytes"] for r in rows]) for way in ("count", "climb"))]
    structures = float(np.mean([row["structure_bytes"] for row in rows]))
    return [structures + float(more) for more in answers]


def _share_and_bytes(share: float | None, size: float) -> str:
    return f"{100 * (share or 0.0):.0f} %, {size / 1000:,.1f} kB"


def _mean_share(rows: Sequence[Row], way: str, cap: float = np.inf) -> str:
    found = [way_share(own, way) for _, own in groups(rows, ("network", "rows"))]
    shares = [min(share, cap) for share in found if share is not None]
    return f"{100 * float(np.mean(shares)):.0f} %" if shares else "-"


def _fixed_section(rows: Sequence[Row]) -> Section:
    votes = ("vote", "vote_1.5", "vote_2", "vote_2.5", "vote_3")
    table = [
        [
            *key,
            *(f"{np.mean([r[way] for r in own]):.1f}" for way in (*FIXED, *votes)),
            f"{np.mean([r['row_weight'] for r in own]):.2f}",
        ]
        for key, own in groups(rows, ("network", "rows"))
    ]
    header = ("network", "rows", *FIXED, *votes, "k taken (mean)")
    return Section("Every row weight by itself", "SMHD of consensus and edge vote.", header, table)


def _scores(rows: Sequence[Row]) -> Section:
    def relative(own: Sequence[Row], key: Callable[[str], str], way: str) -> float:
        return float(np.mean([r[key(way)] - r[key("pooled")] for r in own]))

    ways = ("today", "ladder", "counts", "climb")
    table = [
        [
            *key,
            *(f"{relative(own, lambda w: f'{w}_bdeu', way):.0f}" for way in ways),
            *(f"{relative(own, lambda w: f'{w}_held_out', way):.4f}" for way in ways),
        ]
        for key, own in groups(rows, ("network", "rows"))
    ]
    header = ("network", "rows", *(f"BDeu {w}" for w in ways), *(f"held out {w}" for w in ways))
    text = (
        "Minus that of pooled GES: BDeu of all rows (nats), and mean log-likelihood of a held-out "
        "row (nats) with parameters from summed counts. Above 0: better than pooled GES."
    )
    return Section("Scores beside pooled GES", text, header, table)


def _costs(rows: Sequence[Row]) -> Section:
    names = ("structure_bytes", "count_bytes", "climb_bytes", "requests", "families")
    table = [
        [*key, *(f"{np.mean([r[name] for r in own]):,.0f}" for name in names)]
        for key, own in groups(rows, ("network", "rows"))
    ]
    text = (
        "A site sends the structures of five row weights (bytes), with counts one answer more, "
        "with a climb all answers together; requests and families of the climb in all."
    )
    return Section("What leaves a site", text, ("network", "rows", *names), table)


def _mechanisms(rows: Sequence[Row]) -> Section:
    table = [
        [*key, len(own), f"{100 * np.mean([r['mechanisms_right'] for r in own]):.0f} %"]
        for key, own in groups(rows, ("network", "rows"))
    ]
    text = "Half of the tables differ between sites (c = 5): for how many variables this is seen."
    return Section("Shared or own", text, ("network", "rows", "seeds", "right"), table)
