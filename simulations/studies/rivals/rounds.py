"""FedGES against one shot, ladder, counts and climb: accuracy over what leaves a site.

    python -m simulations.studies.rivals.rounds --output results/rivals/rounds

5,000 rows of a network are divided among 5 or 20 sites, as in FedGES's experiments. Every way sees
the same tables. Rows are kept in rounds.jsonl, the figure is rounds.png (and .svg).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from fedbn.federation.message import StructureMessage, to_arrays
from fedbn.graphs.dag import DAG
from fedbn.graphs.distances import smhd
from fedbn.results.palette import BLUE, GREEN, ORANGE, PURPLE, VERMILLION
from fedbn.results.plots import STYLE, save_figure
from fedbn.scores import make_score
from simulations.benchmarks.arguments import counts, seed
from simulations.studies.pooling.runs import run_case
from simulations.studies.pooling.untuned import network_of
from simulations.studies.rivals.fedges import Round, fed_ges
from simulations.studies.rivals.records import Row, mean_of, run_race, write_table

NETWORKS = "child,insurance,water,mildew,alarm,barley,hailfinder,hepar2,win95pts,andes"
"""Those of FedGES's fourteen on which a run takes less than a CPU minute."""

ALL_ROWS = 5_000
EDGES = 5
LIMIT = 150
SHARES = {"FedGES": Fraction(0), "FedGES, half": Fraction(1, 2)}
"""The union, and arcs of at least half of the I-maps (the setting in the authors' program)."""

WAYS = {
    "one shot": ("today", ORANGE, "o"),
    "ladder": ("ladder", PURPLE, "D"),
    "counts": ("counts", BLUE, "s"),
    "climb": ("climb", GREEN, "^"),
}
RIVALS = {"FedGES": ("0.5", "v"), "FedGES, half": (VERMILLION, "x")}
TELLS = {
    "one shot": "1 structure",
    "ladder": "5 structures",
    "counts": "5 structures, counts of families once",
    "climb": "5 structures, counts of families",
}


def main() -> None:
    """Run the cases that have no rows, print the means, draw the figure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--networks", default=NETWORKS)
    parser.add_argument("--sites", type=counts, default=[5, 20])
    parser.add_argument("--seeds", type=counts, default=[5101, 5102])
    parser.add_argument("--first-seed", type=seed, default=None, help="only this seed")
    parser.add_argument("--minutes", type=float, default=None, help="CPU minutes; begin no more")
    parser.add_argument("--output", type=Path, default=Path("results/rivals/rounds"))
    given = parser.parse_args()
    seeds = given.seeds if given.first_seed is None else [given.first_seed]
    cases = [
        {"network": network, "sites": sites, "seed": number}
        for number in seeds
        for sites in given.sites
        for network in given.networks.split(",")
    ]
    rows = run_race(cases, run_ways, given.output / "rounds.jsonl", given.minutes)
    _print(rows)
    _draw(rows, given.output / "rounds")


def run_ways(given: Mapping[str, Any]) -> Iterator[Row]:
    """A row for every way: SMHD to the truth, bytes of a site, times that it was asked."""
    case = {
        **given,
        "rows": ALL_ROWS // given["sites"],
        "alpha": None,
        "concentration": None,
        "part": "rounds",
        "learner": "ges",
        "score": "bdeu",
    }
    network = network_of(case["network"])
    rng = np.random.default_rng([case["seed"], case["rows"], case["sites"]])
    tables = [network.sample(case["rows"], rng) for _ in range(case["sites"])]
    ours = run_case(case)  # samples the same tables
    once = [make_score("bdeu", table) for table in tables]
    single = fed_ges(once, edges=10**6, share=Fraction(1), limit=1)[0][0]
    assert np.mean([smhd(d, network.dag) for d in single.sent]) == ours["site"], "other tables"
    sent = {
        "one shot": _bytes(single, network.schema.hash),
        "ladder": ours["structure_bytes"],
        "counts": ours["structure_bytes"] + ours["count_bytes"],
        "climb": ours["structure_bytes"] + ours["climb_bytes"],
    }
    asked = {"one shot": 1, "ladder": 1, "counts": 2, "climb": 1 + ours["requests"]}
    yield {"way": "pooled rows", "smhd": ours["pooled"], "bytes": None, "asked": None}
    for way, (key, *_) in WAYS.items():
        yield {"way": way, "smhd": ours[key], "bytes": sent[way], "asked": asked[way]}
    for way, share in SHARES.items():
        rounds, times = fed_ges(once, edges=EDGES, share=share, limit=LIMIT)
        every = [_bytes(each, network.schema.hash) for each in rounds]
        yield {
            "way": way,
            "smhd": smhd(rounds[-1].fusion, network.dag),
            "bytes": sum(every) + every[-1] * (times - len(rounds)),
            "asked": times,
            "best_smhd": min(smhd(each.fusion, network.dag) for each in rounds),
        }


def _bytes(sent: Round, schema: str) -> int:
    """Of one site's message, in the mean."""

    def size(dag: DAG) -> int:
        message = StructureMessage(schema, dag.names, (dag,), (1.0,), "complete")
        return sum(array.nbytes for array in to_arrays(message).values())

    return round(float(np.mean([size(dag) for dag in sent.sent])))


def _print(rows: list[Row]) -> None:
    keys = sorted({(r["case"]["sites"], r["case"]["network"]) for r in rows})
    ways = list(dict.fromkeys(row["way"] for row in rows))
    lines = []
    for sites, network in keys:
        own = [r for r in rows if (r["case"]["sites"], r["case"]["network"]) == (sites, network)]
        cells = [f"{mean_of([r for r in own if r['way'] == way], 'smhd'):.1f}" for way in ways]
        lines.append([network, sites, len(own) // len(ways), *cells])
    write_table(("network", "sites", "seeds", *ways), lines)
    asked = [way for way in ways if way != "pooled rows"]
    by_way = {way: [r for r in rows if r["way"] == way] for way in asked}
    told = [
        [
            way,
            f"{mean_of(by_way[way], 'smhd'):.1f}",
            f"{mean_of(by_way[way], 'bytes'):,.0f}",
            f"{mean_of(by_way[way], 'asked'):.1f}",
            TELLS.get(way, "a structure at every request"),
        ]
        for way in asked
    ]
    print()
    write_table(("way", "SMHD, mean", "bytes of a site", "requests", "what a site tells"), told)


def _draw(rows: list[Row], path: Path) -> None:
    """SMHD over that of pooled rows against bytes of a site: one point a network, and the means."""
    sites = sorted({row["case"]["sites"] for row in rows})
    looks = {way: look[1:] for way, look in WAYS.items()} | RIVALS
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(3.4 * len(sites), 3.4), layout="constrained")
        panels = figure.subplots(1, len(sites), sharey=True, squeeze=False)[0]
        for panel, number in zip(panels, sites, strict=True):
            for way, (colour, marker) in looks.items():
                own = [r for r in rows if r["way"] == way and r["case"]["sites"] == number]
                x = [row["bytes"] for row in own]
                y = [row["smhd"] for row in own]
                panel.scatter(x, y, s=8, color=colour, marker=marker, alpha=0.35, linewidths=0.8)
                middle = (float(np.exp(np.mean(np.log(x)))), float(np.mean(y)))
                panel.scatter(*middle, s=70, color=colour, marker=marker, label=way)
            panel.set_xscale("log")
            panel.set_title(f"{number} sites, {ALL_ROWS // number} rows each")
            panel.set_xlabel("bytes that leave a site")
        panels[0].set_ylabel("SMHD to the truth")
        panels[0].set_yscale("symlog", linthresh=10)
        panels[0].set_ylim(bottom=-1)
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3)
        save_figure(figure, path)


if __name__ == "__main__":
    main()
