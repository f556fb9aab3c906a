"""The audits of the study: what each mechanism claims, and whether it was caught."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np

from fedbn.attacks.audit import epsilon_lower_bound, noise_repeats, replay
from fedbn.attacks.flips import canary
from fedbn.attacks.release_audit import replay_releases
from fedbn.attacks.samples import with_row, without_row
from fedbn.data.dataset import Dataset
from fedbn.graphs.dag import DAG
from fedbn.graphs.pdag import PDAG
from fedbn.networks.catalog import load_network
from fedbn.privacy.class_climb import class_climbing
from fedbn.privacy.climb import climbing
from fedbn.privacy.dependence import WIDTH
from fedbn.privacy.exact_draws import choose
from fedbn.privacy.mechanism_runs import (
    Budget,
    Mechanism,
    PrivateChooser,
    Transcript,
    run_privately,
)
from fedbn.privacy.moments import dp_moments, drawing_from, moment_class, phases
from fedbn.privacy.releases import PrivateReleaser, Releaser, ReleaseTranscript
from fedbn.privacy.zcdp import rho_of
from simulations.studies.privacy.broken import (
    HalfReleaser,
    PeekingReleaser,
    UndividedReleaser,
    dependence_of,
    filter_candidates,
    flips_all_pairs,
    half_the_width,
    one_draw_tables,
    only_adds,
    seeded_noise,
    undivided_budget,
)

DELTA = 1e-6
ROWS = 60
DRAWS = 14
LEVEL = 0.05
"""Of all audits of a row of the table together: each has its share of it."""

MECHANISMS: Mapping[str, Mechanism] = {"dp-climb": climbing(2), "dp-ges": class_climbing(4, 2)}
BUDGETS: Mapping[str, Callable[[Fraction, int], Budget]] = {
    "half the width": half_the_width,
    "budget undivided": undivided_budget,
}
RELEASERS: Mapping[str, type[PrivateReleaser]] = {
    "half the width": HalfReleaser,
    "budget undivided": UndividedReleaser,
}
Private = Callable[[Dataset, Fraction, Random], tuple[DAG, Hashable]]
"""(table, ρ, source) -> DAG and transcript."""


def _drawn(mechanism: Mechanism) -> Private:
    return lambda table, rho, source: run_privately(
        mechanism, table, rho=rho, draws=DRAWS, source=source
    )


RUNS: Mapping[str, Private] = {
    **{name: _drawn(mechanism) for name, mechanism in MECHANISMS.items()},
    "dp-moments": lambda table, rho, source: dp_moments(table, rho=rho, source=source),
}


def run_audit(case: Mapping[str, Any]) -> dict[str, Any]:
    """How many of the audits refuted the claim, and the largest lower bound where there is one."""
    return _AUDITS[case["audit"]](case)


def _replays(case: Mapping[str, Any]) -> dict[str, Any]:
    if case["fault"] == "seeded":
        table, rho = _table(0), Fraction(rho_of(case["epsilon"], DELTA))
        run = RUNS[case["mechanism"]]
        repeats = noise_repeats(lambda: run(table, rho, seeded_noise(1))[1])
        return {"caught": case["audits"] * repeats, "bound": None}
    if case["mechanism"] == "dp-moments":
        caught = caught_moments(case["fault"], case["epsilon"], case["audits"])
        return {"caught": caught, "bound": None}
    mechanism = MECHANISMS[case["mechanism"]]
    if case["fault"] == "filtered":
        mechanism = filter_candidates(mechanism)
    make = BUDGETS.get(case["fault"], Budget.of)
    caught = caught_neighbours(mechanism, make, case["epsilon"], case["audits"])
    return {"caught": caught, "bound": None}


def caught_neighbours(
    mechanism: Mechanism, make: Callable[[Fraction, int], Budget], epsilon: float, audits: int
) -> int:
    """How many replays on neighbours, half of them with a canary, refute the claim."""
    rho, found = Fraction(rho_of(epsilon, DELTA)), 0
    for number in range(audits):
        table = _table(number // 10)
        chooser = PrivateChooser(make(rho, DRAWS), Random(number))
        mechanism(table, table.n_rows, chooser)
        transcript = Transcript(chooser.budget, table.n_rows, tuple(chooser.draws))
        neighbour = _neighbour(table, number)
        found += replay(mechanism, transcript, neighbour, Budget.of(rho, DRAWS)).caught
    return found


def caught_moments(fault: str, epsilon: float, audits: int) -> int:
    """The same for dp-moments: its releases and its draws, both of them with the fault."""
    rho, found = Fraction(rho_of(epsilon, DELTA)), 0
    filtered = fault == "filtered"

    def moments(table: Dataset, releaser: Releaser) -> PDAG:
        return moment_class(table, PeekingReleaser(releaser) if filtered else releaser, 4)

    for number in range(audits):
        table, source = _table(number // 10), Random(number)
        of_releases, of_draws, draws = phases(rho, table.n)
        releaser = RELEASERS.get(fault, PrivateReleaser)(of_releases, source)
        drawing = drawing_from(moments(table, releaser), 4)
        drawing = filter_candidates(drawing) if filtered else drawing
        chooser = PrivateChooser(BUDGETS.get(fault, Budget.of)(of_draws, draws), source)
        drawing(table, table.n_rows, chooser)
        neighbour = _neighbour(table, number)
        released = ReleaseTranscript(of_releases, tuple(releaser.releases))
        drawn = Transcript(chooser.budget, table.n_rows, tuple(chooser.draws))
        found += (
            replay_releases(moments, released, neighbour, of_releases).caught
            or replay(drawing, drawn, neighbour, Budget.of(of_draws, draws)).caught
        )
    return found


def _neighbour(table: Dataset, number: int) -> Dataset:
    """With a canary for odd numbers, else without a row."""
    return with_row(table, canary(table)) if number % 2 else without_row(table, number % ROWS)


def _table(number: int) -> Dataset:
    return load_network("asia").sample(ROWS, np.random.default_rng([6, number]))


def _one_draw(case: Mapping[str, Any]) -> dict[str, Any]:
    factor = 2 if case["fault"] == "half the width" else 1
    level = LEVEL / case["audits"]
    bounds = [
        one_draw_bound(case["epsilon"], factor, seed, case["runs"], level)
        for seed in range(case["audits"])
    ]
    return _verdict(bounds, case["epsilon"])


def one_draw_bound(
    epsilon: float, rate_factor: int, seed: int, runs: int, level: float = LEVEL
) -> float:
    """The bound for one draw between two candidates whose utilities a row moves by the width.

    An offset lets the first win once in 13 draws.
    """
    rate, source = Fraction(epsilon) / WIDTH * rate_factor, Random(seed)
    start = [dependence_of(counts) for counts in one_draw_tables(False)]
    offset = math.ceil(math.log(12) / rate)
    outputs = []
    for extra in (False, True):
        a, b = (dependence_of(counts) for counts in one_draw_tables(extra))
        utilities = [a - start[0], b - start[1] + offset]
        outputs.append([choose(utilities, rate, source) for _ in range(runs)])
    return epsilon_lower_bound(outputs[0], outputs[1], 0.0, level)


def _outputs(case: Mapping[str, Any]) -> dict[str, Any]:
    mechanism = only_adds if case["fault"] == "only adds" else flips_all_pairs
    rng, level = np.random.default_rng(7), LEVEL / case["audits"]
    bounds = []
    for _ in range(case["audits"]):
        with_edge, without = (
            mechanism(side, case["epsilon"], rng, case["runs"]) for side in (True, False)
        )
        bounds.append(epsilon_lower_bound(with_edge, without, 0.0, level))
    return _verdict(bounds, case["epsilon"])


def _end_to_end(case: Mapping[str, Any]) -> dict[str, Any]:
    """The whole learner on a table and on the table with a canary; the statistic is the edges."""
    run, rho = RUNS[case["mechanism"]], Fraction(rho_of(case["epsilon"], DELTA))
    table, source = _table(0), Random(8)
    edges = [
        [run(side, rho, source)[0].n_edges for _ in range(case["runs"])]
        for side in (table, with_row(table, canary(table)))
    ]
    without, with_it = edges
    return _verdict([epsilon_lower_bound(without, with_it, DELTA, LEVEL)], case["epsilon"])


def _verdict(bounds: list[float], epsilon: float) -> dict[str, Any]:
    return {"caught": sum(bound > epsilon for bound in bounds), "bound": max(bounds)}


_AUDITS = {
    "replay": _replays,
    "one draw": _one_draw,
    "outputs": _outputs,
    "end to end": _end_to_end,
}
