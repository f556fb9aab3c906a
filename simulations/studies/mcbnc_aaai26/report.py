"""The report: what was run, Table 2 in its readings, every claim, figures, and beyond the paper."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from simulations.studies.mcbnc_aaai26.evidence import table_2
from simulations.studies.mcbnc_aaai26.selection import Cell, cells_of, groups, mean, of_part
from simulations.studies.mcbnc_aaai26.statistics import Comparison, win_tie_loss
from simulations.studies.mcbnc_aaai26.targets import targets
from simulations.study_cases import Row
from simulations.study_report import Section

HERE = Path(__file__).parent
READINGS = ("refusion", "search", "best")
WITH_RIVALS = ("vote 1/2", "vote automatic", "median from vote", "polished")


def golden() -> dict[str, Any]:
    """What the paper prints, and our own values."""
    content = json.loads((HERE / "expected.json").read_text(encoding="utf-8"))
    assert isinstance(content, dict)
    return content


def sections(
    rows: Sequence[Row], wanted: Sequence[Mapping[str, Any]], figures: Sequence[str]
) -> list[Section]:
    """All parts of the report for which there are rows."""
    paper = golden()
    order = list(paper["table 1"])[1:]
    cells = cells_of(rows, order)
    parts = [
        _origin(rows, wanted),
        _rivals_first(cells),
        *(_table_2(cells, reading, paper["table 2"]) for reading in READINGS if cells),
        _extension(cells),
        targets(cells, rows, paper["claims"]),
        _cells(cells),
        _certificate(cells),
        _beside_the_vote(rows),
        *_federations(rows),
    ]
    if figures:
        parts.append(Section("Figures", "θ to the left of 0 is G+.", figures=figures))
    return [part for part in parts if part.rows or part.figures]


def _origin(rows: Sequence[Row], wanted: Sequence[Mapping[str, Any]]) -> Section:
    """Cases that were run, by part; versions; what is missing."""
    table = []
    for (part,), some in groups(wanted, "part").items():  # type: ignore[arg-type]
        done = of_part(rows, part)
        found = {_identity(row, some[0]) for row in done}
        missing = [case for case in some if _identity(case, some[0]) not in found]
        versions = sorted({row.get("fedbn", "?") for row in done})
        seconds = sum(row.get("cpu_seconds", 0.0) for row in done)
        table.append(
            [
                part,
                len(some),
                len(some) - len(missing),
                round(seconds),
                ", ".join(versions),
                _name_cases(missing),
            ]
        )
    text = "Rows of an older version count as done; they are named here."
    header = ["part", "cases", "done", "CPU s", "fedbn", "missing"]
    return Section("What was run", text, header, table)


def _identity(row: Mapping[str, Any], like: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(row.get(key) for key in like)


def _name_cases(cases: Sequence[Mapping[str, Any]]) -> str:
    """Missing cases by network and r, with how many."""
    counts: dict[str, int] = {}
    for case in cases:
        name = str(case.get("network", f"n = {case.get('n')}"))
        if "r" in case:
            name += f" r={case['r']}"
        counts[name] = counts.get(name, 0) + 1
    return ", ".join(f"{name} ({count})" for name, count in counts.items()) or "nothing"


def _rivals_first(cells: Sequence[Cell]) -> Section:
    """The finding that stands first: the plain vote beside the consensus."""
    table = []
    for reading in READINGS if cells else ():
        found = table_2(cells, reading, "smhd_gold", ("vote 1/2",))
        ours = [cell.at_choice(reading, "smhd_gold") for cell in cells]
        vote = [cell.of("vote 1/2", "smhd_gold") for cell in cells]
        won, tied, lost = win_tie_loss(ours, vote)
        ranks = found.mean_ranks
        table.append(
            [reading, len(cells), f"{won} / {tied} / {lost}", ranks["consensus"], ranks["vote 1/2"],
             mean(ours), mean(vote)]
        )  # fmt: skip
    text = (
        "Clients with IID rows: the edges that more than half of the inputs have (vote 1/2), "
        "beside MCBNC. SMHD to the truth; ranks among consensus, vote, mean input and G+."
    )
    header = [
        "reading", "cells", "MCBNC nearer / equal / farther", "rank of MCBNC", "rank of the vote",
        "mean SMHD of MCBNC", "of the vote",
    ]  # fmt: skip
    return Section("The majority vote on IID inputs", text, header, table)


def _table_2(cells: Sequence[Cell], reading: str, paper: Mapping[str, Any]) -> Section:
    table = []
    for key, name in (("smhd_gold", "SMHD"), ("bdeu", "BDeu")):
        table += _comparison(name, table_2(cells, reading, key), paper[key])
    text = (
        f"{len(cells)} cells; Friedman and Holm as in the paper (statistics.py); W / T / L are of "
        "the first method against the other. The paper's are over 90 cells."
    )
    header = ["metric", "method", "mean rank", "paper", "p", "paper", "W / T / L", "paper"]
    return Section(f"Table 2, reading {reading}", text, header, table)


def _comparison(metric: str, found: Comparison, paper: Mapping[str, Any]) -> list[list[object]]:
    lines: list[list[object]] = [
        [metric, "Friedman", None, None, _p(found.friedman), _p(paper.get("friedman")), "", ""]
    ]
    for name, rank in found.mean_ranks.items():
        against = found.against.get(name)
        lines.append(
            [metric, name, rank, paper.get("ranks", {}).get(name), _p(found.holm[name]),
             _p(paper.get("holm", {}).get(name)), _wtl(against),
             _wtl(paper.get("against", {}).get(name))]
        )  # fmt: skip
    return lines


def _p(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"


def _wtl(counts: Sequence[int] | None) -> str:
    return "" if counts is None else " / ".join(map(str, counts))


def _extension(cells: Sequence[Cell]) -> Section:
    table: list[list[object]] = []
    for reading in READINGS if cells else ():
        for key, name in (("smhd_gold", "SMHD"), ("bdeu", "BDeu")):
            found = table_2(cells, reading, key, WITH_RIVALS)
            lines = _comparison(f"{name}, {reading}", found, {})
            table += [[line[0], line[1], line[2], line[4], line[6]] for line in lines]
    text = "As Table 2, with other ways of fusing: beyond the paper."
    header = ["metric, reading", "method", "mean rank", "p", "W / T / L"]
    return Section("Table 2 with rivals", text, header, table)


def _cells(cells: Sequence[Cell]) -> Section:
    """One line per cell: means over the repetitions."""
    table = []
    for cell in cells:
        table.append(
            [cell.network, cell.r, len(cell.repetitions), cell.of("inputs", "smhd_gold"),
             cell.union("smhd_gold"), cell.union("edges"),
             *(cell.at_choice(reading, "smhd_gold") for reading in READINGS),
             cell.theta("search"), cell.of("vote 1/2", "smhd_gold"),
             cell.of("vote automatic", "smhd_gold"), cell.of("median", "smhd_gold"),
             cell.of("median from vote", "smhd_gold"), cell.of("polished", "smhd_gold"),
             cell.of("empty", "smhd_gold")]
        )  # fmt: skip
    header = [
        "network", "r", "repetitions", "inputs", "G+", "its edges", *READINGS, "θ (search)",
        "vote 1/2", "vote automatic", "median", "median from vote", "polished", "empty",
    ]  # fmt: skip
    return Section("Cells: SMHD to the truth", "Means over the repetitions.", header, table)


def _certificate(cells: Sequence[Cell]) -> Section:
    """How far the best reading can be from the DAG nearest to the inputs."""
    table = []
    for cell in cells:
        ours = cell.at_choice("best", "smhd_inputs")
        bound = mean([row["lower_bound"] for row in cell.repetitions])
        table.append(
            [
                cell.network,
                cell.r,
                ours,
                bound,
                round(ours - bound, 6),
                cell.of("polished", "smhd_inputs"),
            ]
        )
    text = "No DAG at all has a mean SMHD to the inputs below the bound; a gap of 0 is a proof."
    header = ["network", "r", "mean SMHD, best", "bound", "gap", "polished"]
    return Section("Certificate", text, header, table)


KEYS = {
    "non-iid": ("network", "split", "alpha"),
    "sizes": ("network", "sizes", "weights"),
    "learners": ("network", "learner", "rows"),
    "rows": ("network", "rows"),
    "robust": ("network", "kind", "hostile", "pooling"),
}
TITLES = {
    "non-iid": "Sites that differ", "sizes": "Unequal tables", "learners": "Learners",
    "rows": "Fewer rows", "robust": "Hostile inputs",
}  # fmt: skip


def _federations(rows: Sequence[Row]) -> list[Section]:
    """SMHD to the truth by method, means over the seeds."""
    found = []
    for part, keys in KEYS.items():
        some = of_part(rows, part)
        if not some:
            continue
        methods = list(some[0]["smhd"])
        table = [
            [*at, len(group), *(mean([row["smhd"][method] for row in group]) for method in methods),
             mean([row["gap"] for row in group]), mean([row["seconds"] for row in group])]
            for at, group in groups(some, *keys).items()
        ]  # fmt: skip
        header = [*keys, "runs", *methods, "gap", "CPU s of the path"]
        found.append(Section(TITLES[part], "SMHD to the truth, means.", header, table))
    return found


AGAINST_VOTE = ("default", "search", "refusion", "best", "median from vote", "inputs")


def _beside_the_vote(rows: Sequence[Row]) -> Section:
    """In how many runs beyond the grid a method is nearer to the truth than the vote at 1/2."""
    table = []
    for title, some in _settings(rows).items():
        vote = [row["smhd"]["vote 1/2"] for row in some]
        for method in AGAINST_VOTE if some else ():
            ours = [row["smhd"][method] for row in some]
            counts = _wtl(win_tie_loss(ours, vote))
            table.append([title, len(some), method, counts, mean(ours), mean(vote)])
    text = "Runs on the same network are not independent: counts, no test."
    header = ["setting", "runs", "method", "nearer / equal / farther", "mean SMHD", "of the vote"]
    return Section("Beside the majority vote", text, header, table)


def _settings(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """The runs beyond the grid by what they try."""
    split = of_part(rows, "non-iid")
    robust = of_part(rows, "robust")
    found = {
        "sites alike (iid, skewed sizes)": [r for r in split if r["alpha"] is None],
        "sites differ a little (α 1, 10)": [r for r in split if (r["alpha"] or 0.0) >= 1.0],
        "sites differ much (α 0.1, 0.5)": [r for r in split if 0.0 < (r["alpha"] or 0.0) < 1.0],
        "hostile inputs, mean of the cuts": [
            r for r in robust if r["hostile"] and r["pooling"] == "mean"
        ],
    }
    return found | {TITLES[part]: of_part(rows, part) for part in ("sizes", "learners", "rows")}


def curves(cells: Sequence[Cell]) -> list[list[object]]:
    """The points of all curves, one line a state: header first; θ of G+ is empty."""
    keys = ("smhd_gold", "smhd_inputs", "bdeu", "edges", "width")
    table: list[list[object]] = [["network", "r", "reading", "theta", *keys]]
    for cell in cells:
        for reading in ("search", "refusion"):
            columns = [cell.curve(reading, key) for key in keys]
            for points in zip(*columns, strict=True):
                theta = "" if points[0][0] is None else points[0][0]
                table.append(
                    [cell.network, cell.r, reading, theta, *(value for _, value in points)]
                )
    return table
