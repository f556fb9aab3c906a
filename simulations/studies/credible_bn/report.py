"""The rows of the reproduction as tables, with the printed and the exact figures beside ours."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from simulations.studies.credible_bn.federation import METHODS
from simulations.studies.credible_bn.figures import draw_federation, draw_sizes
from simulations.study_report import Section

Row = dict[str, Any]
EXPECTED = json.loads((Path(__file__).parent / "expected.json").read_text(encoding="utf-8"))


def table_sections(rows: Sequence[Row], folder: Path, missing: Sequence[str]) -> list[Section]:
    """Tables 1 to 5."""
    real = [row for row in rows if "data" in row]
    samples = [row for row in rows if "network" in row]
    sections = []
    if missing:
        text = "Not there, and passed over: " + ", ".join(missing) + "."
        sections.append(Section("Tables that were not given", text))
    if real:
        sections += [_parent_sets(real), _sets(real), _bdeu(real)]
        sections.append(Section("Sizes of the sets", figures=[draw_sizes(real, folder)]))
    return [*sections, _samples(samples), _accuracy(samples)]


def _figure(row: Row, key: str) -> Any:
    """A figure of expected.json for this row, or nothing."""
    of_score = EXPECTED["tables"].get(row["data"], {}).get(row["score"], {})
    return of_score.get(f"{row['bf']:g}", {}).get(key, "")


def _parent_sets(rows: Sequence[Row]) -> Section:
    header = ["table", "BF", "exact rule", "expected", "paper's rule", "printed", "CPU s"]
    return Section(
        "Table 1: candidate parent sets, BIC",
        "The paper compares with the stored scores of immediate subsets, at ε = 1.1, 3.1 and 5.1.",
        header,
        [
            [
                row["data"], row["bf"], row["parent_sets"], _figure(row, "parent_sets"),
                row["paper_parent_sets"], _figure(row, "paper_parent_sets"), row["score_seconds"],
            ]
            for row in rows if row["score"] == "bic"
        ],
    )  # fmt: skip


def _sets(rows: Sequence[Row]) -> Section:
    header = [
        "table", "BF", "DAGs", "expected", "printed", "classes", "expected", "paper's count",
        "complete", "CPU s", "printed s",
    ]  # fmt: skip
    return Section(
        "Table 2: credible DAGs and Markov equivalence classes, BIC",
        "The paper's |M| counts skeletons with all colliders, which is finer than equivalence. CPU "
        "seconds are those after scoring; the paper's are of a 2.2 GHz Xeon with CPLEX.",
        header,
        [
            [
                row["data"], row["bf"], row["dags"], _figure(row, "dags"),
                _figure(row, "paper_dags"),
                row["classes"], _figure(row, "classes"), row["paper_classes"], str(row["complete"]),
                row["set_seconds"] + row["class_seconds"], _figure(row, "paper_seconds"),
            ]
            for row in rows if row["score"] == "bic"
        ],
    )  # fmt: skip


def _bdeu(rows: Sequence[Row]) -> Section:
    wanted = [row for row in rows if row["score"] == "bdeu"]
    sizes = sorted({int(key[1:-5]) for row in wanted for key in row if key.endswith("_dags")
                    and key.startswith("k")})  # fmt: skip
    header = [
        "table", "DAGs", "expected", "printed", "classes", "expected", "CPU s",
        *(f"{k} best, CPU s" for k in sizes), *(f"{k} best classes, CPU s" for k in sizes),
    ]  # fmt: skip
    return Section(
        "Table 3: BDeu (ESS 1), BF 20, beside the k best DAGs and classes",
        "KBest and KBestEC list a number that is fixed in advance; here both come from the set, "
        "which may have fewer.",
        header,
        [
            [
                row["data"], row["dags"], _figure(row, "dags"), _figure(row, "paper_dags"),
                row["classes"], _figure(row, "classes"), row["set_seconds"] + row["class_seconds"],
                *(row[f"k{k}_seconds"] for k in sizes),
                *(row[f"k{k}_class_seconds"] for k in sizes),
            ]
            for row in wanted
        ],
    )  # fmt: skip


def _groups(rows: Sequence[Row]) -> list[tuple[Row, list[Row]]]:
    """Samples that differ only in their seed."""
    keys = list(dict.fromkeys((r["network"], r["rows"], r["bf"]) for r in rows))
    return [
        (dict(zip(("network", "rows", "bf"), key, strict=True)),
         [r for r in rows if (r["network"], r["rows"], r["bf"]) == key])
        for key in keys
    ]  # fmt: skip


def _samples(rows: Sequence[Row]) -> Section:
    header = ["network", "rows", "BF", "samples", "complete", "DAGs: minimum", "median", "maximum",
              "classes: minimum", "median", "maximum", "another sample", "CPU s, mean"]  # fmt: skip
    lines = []
    for key, group in _groups(rows):
        known = EXPECTED["samples"].get(key["network"], {}).get(str(key["rows"]), {})
        other = known.get(f"{key['bf']:g}")
        whole = sorted(r["dags"] for r in group)
        classes = sorted(r["classes"] for r in group if r["classes"] is not None) or [0]
        lines.append([
            *key.values(), len(group), sum(r["complete"] for r in group),
            whole[0], whole[len(whole) // 2], whole[-1],
            classes[0], classes[len(classes) // 2], classes[-1],
            f"{other[0]:,} ({other[1]:,})" if other else "",
            float(np.mean([r["set_seconds"] + r["class_seconds"] for r in group])),
        ])  # fmt: skip
    return Section(
        "Table 4: samples of networks, BIC",
        "How many structures are credible varies by orders of magnitude between samples of one "
        "network. 'Another sample' is the paper's, whose rows are not known.",
        header,
        lines,
    )


def _accuracy(rows: Sequence[Row]) -> Section:
    lines = [
        [*key.values(), float(np.mean([r["f1_best"] for r in group])),
         float(np.mean([r["f1_averaged"] for r in group])),
         sum(r["f1_averaged"] > r["f1_best"] for r in group),
         sum(r["f1_averaged"] < r["f1_best"] for r in group)]
        for key, group in _groups(rows)
    ]  # fmt: skip
    return Section(
        "Table 5: adjacencies of the true network",
        "F1 of the best DAG, and of the adjacencies with a posterior of 0.5 or more; in how many "
        "samples averaging is better, and worse.",
        ["network", "rows", "BF", "F1, best DAG", "F1, averaged", "better", "worse"],
        lines,
    )


def federation_sections(rows: Sequence[Row], folder: Path) -> list[Section]:
    """The consensus from one DAG per client against several."""
    keys = list(dict.fromkeys((r["network"], r["rows_per_client"]) for r in rows))
    lines, against = [], []
    for network, size in keys:
        group = [r for r in rows if (r["network"], r["rows_per_client"]) == (network, size)]
        means = [float(np.mean([r[name] for r in group])) for name in METHODS]
        extra = [float(np.mean([r[k] for r in group])) for k in ("credible_dags", "dropped")]
        alone = float(np.mean([r["clients_alone"] for r in group]))
        lines.append([network, size, len(group), alone, *means, *extra])
        against.append(
            [network, size, *(_pair_text(group, name) for name in METHODS if name != "ges")]
        )
    return [
        Section(
            "Federation: SMHD of the consensus to the truth",
            "Mean over repetitions. 'Alone' is a client's own GES; then the consensus from each "
            "kind of message, the DAGs of a credible set, and the share of it that is not sent.",
            ["network", "rows", "repetitions", "alone", *METHODS.values(), "DAGs", "not sent"],
            lines,
            [draw_federation(rows, folder)],
        ),
        Section(
            "Federation: difference to one DAG by GES per client",
            "Mean paired difference of the SMHD ± its standard error (negative: nearer to the "
            "truth), and in how many repetitions it was nearer and farther.",
            ["network", "rows", *(v for k, v in METHODS.items() if k != "ges")],
            against,
        ),
    ]


def _pair_text(group: Sequence[Row], name: str) -> str:
    gain = np.array([row[name] - row["ges"] for row in group], dtype=float)
    error = gain.std(ddof=1) / np.sqrt(len(gain)) if len(gain) > 1 else 0.0
    return f"{gain.mean():+.2f} ± {error:.2f} ({(gain < 0).sum()} / {(gain > 0).sum()})"
