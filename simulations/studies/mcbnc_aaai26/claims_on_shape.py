"""The paper's claims on scores, treewidth, edges and time. See `claims.py`."""

from __future__ import annotations

from simulations.studies.mcbnc_aaai26.evidence import (
    Evidence,
    Found,
    Rule,
    groups_by_network,
    value_at,
)
from simulations.studies.mcbnc_aaai26.selection import mean
from simulations.studies.mcbnc_aaai26.statistics import TOLERANCE


def comparable_bdeu(at: Evidence, rule: Rule) -> Found:
    percent = {
        (c.network, c.r): 100 * (c.at_choice(at.reading, "bdeu") / c.of("inputs", "bdeu") - 1)
        for c in at.main()
    }
    above = sum(value < 0 for value in percent.values())
    low, high = min(percent.values()), max(percent.values())
    held = max(abs(low), abs(high)) <= rule["percent"]
    worst = max(percent, key=lambda key: abs(percent[key]))
    return held, (
        f"log score {-high:+.2f} to {-low:+.2f} % of the inputs' (mean "
        f"{-mean(list(percent.values())):+.2f} %), above in {above} of {len(percent)}; "
        f"farthest {worst[0]} r = {worst[1]}"
    )


def truth_below_inputs(at: Evidence, rule: Rule) -> Found:
    found = at.of(*rule["networks"])
    if not found:
        return None, ""
    below = groups_by_network(
        found, lambda c: 100 * (c.of("gold", "bdeu") / c.of("inputs", "bdeu") - 1)
    )
    text = ", ".join(f"{name} {mean(values):.1f} % below" for name, values in below.items())
    return all(min(values) > 0 for values in below.values()), text


def above_truth(at: Evidence, rule: Rule) -> Found:
    found = at.of(rule["network"])
    if not found:
        return None, ""
    above = {c.r: 100 * (1 - c.at_choice(at.reading, "bdeu") / c.of("gold", "bdeu")) for c in found}
    text = ", ".join(f"r = {r}: {value:+.1f} %" for r, value in above.items())
    return all(value > 0 for value in above.values()), text


def flat_width(at: Evidence, rule: Rule) -> Found:
    flat = []
    for cell in at.main():
        curve = cell.curve(at.reading, "width")
        inside = [value_at(curve, rule["from"])]
        inside += [v for t, v in curve if t is not None and rule["from"] <= t <= rule["to"]]
        spread = max(inside) - min(inside)
        flat.append(spread <= max(rule["absolute"], rule["share"] * max(inside)))
    return all(flat), f"{sum(flat)} of {len(flat)} cells"


def never_denser(at: Evidence, rule: Rule) -> Found:
    counts = {}
    for other in ("gold", "inputs"):
        for key in ("edges", "width"):
            counts[f"{key} above {other}"] = sum(
                c.at_choice(at.reading, key) > c.of(other, key) + TOLERANCE for c in at.main()
            )
    text = ", ".join(f"{what} {count}" for what, count in counts.items())
    return max(counts.values()) <= rule["violations"], f"{text}; of {len(at.main())} cells"


def win95pts(at: Evidence, rule: Rule) -> Found:
    found = at.of(rule["network"])
    if not found:
        return None, ""
    texts, best = [], 0.0
    for cell in found:
        ours = at.smhd(cell)
        inputs = 100 * (1 - ours / cell.of("inputs", "smhd_gold"))
        union = 100 * (1 - ours / cell.union("smhd_gold"))
        best = max(best, inputs)
        width = f"width {cell.union('width'):.0f} -> {cell.at_choice(at.reading, 'width'):.1f}"
        texts.append(f"r = {cell.r}: {inputs:.0f} % (inputs), {union:.0f} % (G+), {width}")
    return best >= rule["percent"], "; ".join(texts)


def as_many_edges(at: Evidence, rule: Rule) -> Found:
    off = [abs(c.at_choice(at.reading, "edges") / c.of("inputs", "edges") - 1) for c in at.main()]
    return mean(off) <= rule[
        "share"
    ], f"off by {100 * mean(off):.0f} % in the mean, by {100 * max(off):.0f} % at most"


def early_time(at: Evidence, rule: Rule) -> Found:
    found = at.of(*rule["networks"])
    if not found:
        return None, ""
    share = groups_by_network(
        found, lambda c: value_at(c.clock(), rule["theta"]) / c.clock()[-1][1]
    )
    text = ", ".join(f"{name} {100 * mean(values):.0f} %" for name, values in share.items())
    return all(mean(values) > rule["share"] for values in share.values()), text


def nothing_changes(at: Evidence, rule: Rule) -> Found:
    found = at.of(*rule["networks"])
    if not found:
        return None, ""
    same = [c.rivals["inputs_equal_to_gold"] == 1.0 and c.union("smhd_gold") == 0 for c in found]
    first = [c.curve(at.reading, "smhd_gold")[1][0] for c in found]
    early = sum(theta is not None and theta < 1 for theta in first)
    return all(same) and not early, (
        f"inputs and G+ are the truth in {sum(same)} of {len(same)} cells; a deletion below "
        f"θ = 1 in {early}"
    )
