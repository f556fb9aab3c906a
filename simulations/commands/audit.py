"""The command `fedbn audit`: what a learner's structures say about single rows and sites."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from random import SystemRandom
from typing import TYPE_CHECKING, Any

import numpy as np

from fedbn.attacks.audit import epsilon_lower_bound, replay
from fedbn.attacks.flips import canary, flip_rate, flips_of
from fedbn.attacks.release_audit import replay_releases
from fedbn.attacks.samples import Learn, Share, Structures, with_row, without_row
from fedbn.attacks.shadow import Population, shadow_membership
from fedbn.attacks.single_sites import reidentify
from fedbn.data.columns import TABLE_SUFFIXES
from fedbn.data.partition import partition_iid
from fedbn.errors import ConfigError
from fedbn.graphs.pdag import PDAG
from fedbn.learners import find_learner, learn, learner_for
from fedbn.learners.private import promise, stated_bounds
from fedbn.privacy.bounds import Bounds
from fedbn.privacy.class_climb import DELETIONS, class_climbing
from fedbn.privacy.climb import climbing
from fedbn.privacy.mechanism_runs import Budget, Mechanism, run_privately
from fedbn.privacy.moments import MAX_PARENTS, dp_moments, drawing_from, moment_class, phases
from fedbn.privacy.number_moments import dp_number_moments, number_class
from fedbn.privacy.releases import PrivateReleaser, Releaser, ReleaseTranscript
from simulations.commands.learn import read_table
from simulations.experiment import experiment_from
from simulations.progress import stages
from simulations.terminal import print_json, print_table, rows_table

if TYPE_CHECKING:
    from fedbn.data.dataset import Dataset
    from fedbn.learners import LearnerSettings

WORDS = {
    "classes": "removals that change the class",
    "messages": "removals that change the class or a weight",
    "mean_change": "mean SMHD between before and after",
    "largest_change": "maximum SMHD between before and after",
}
"""Keys of the content -> what the table calls them; the others are words already."""

COPIES = (1, 2, 5)
"""How often a canary is inserted."""


class Game(StrEnum):
    """What is attacked."""

    flips = "flips"
    shadow = "shadow"
    canary = "canary"
    epsilon = "epsilon"
    reidentify = "reidentify"


@dataclass(frozen=True)
class GameSizes:
    """Sample sizes; those that a game has no use for are not looked at."""

    removals: int
    targets: int
    shadows: int
    sites: int


@dataclass(frozen=True)
class _Setting:
    table: Dataset
    population: Population
    settings: LearnerSettings
    learn: Learn
    sizes: GameSizes
    rng: np.random.Generator


def audit_and_report(
    source: str,
    options: Mapping[str, Any],
    *,
    game: Game,
    rows: int | None,
    schema: Path | None,
    sizes: GameSizes,
    seed: int,
    as_json: bool,
) -> None:
    """Play a game against a learner and print its figures with their sample sizes.

    Raises
    ------
    FedbnError : the source, a setting or a sample size is not as it must be.
    """
    experiment = experiment_from(options)
    settings = experiment.learner
    learner_for(settings)
    rng = np.random.default_rng(seed)
    if Path(source).is_file() or source.lower().endswith(TABLE_SUFFIXES):
        if rows is not None:
            raise ConfigError("--rows is for networks: a table is used whole")
        table = read_table(Path(source), settings.score, schema, experiment.tables)
        population: Population = _resample(table)
    else:
        table, population = _of_network(source, rows or 1000, rng)
    setting = _Setting(table, population, settings, _learner(settings), sizes, rng)
    with stages(not as_json) as notify:
        notify(f"playing the game {game.value} against {settings.learner}")
        found = _GAMES[game](setting)
    content = {"game": game.value, "learner": settings.learner, "rows": table.n_rows, **found}
    if as_json:
        print_json(content)
    else:
        print_table(
            rows_table(
                ("figure", "value"),
                [(WORDS.get(k, k.replace("_", " ")), _show(v)) for k, v in content.items()],
            )
        )


def _resample(table: Dataset) -> Population:
    """Tables of rows drawn from a table with replacement, in place of a population."""
    return lambda rows, rng: table.take(rng.integers(0, table.n_rows, size=rows))


def _of_network(name: str, rows: int, rng: np.random.Generator) -> tuple[Dataset, Population]:
    from fedbn.networks.catalog import load_network

    network = load_network(name)
    return network.sample(rows, rng), lambda count, generator: network.sample(count, generator)


def _learner(settings: LearnerSettings) -> Learn:
    """The learner under attack; the noise of a private one is the game's, so that rows count."""
    if find_learner(settings.learner).is_private:
        settings = replace(settings, noise="seeded")

    def run(table: Dataset, rng: np.random.Generator) -> Structures:
        learned = learn(table, settings, rng)
        return learned.dags, learned.weights

    return run


def _flips(given: _Setting) -> dict[str, Any]:
    removals = min(given.sizes.removals, given.table.n_rows)
    found = flip_rate(given.table, given.learn, given.rng, removals)
    return {
        "classes": asdict(found.classes),
        "messages": asdict(found.messages),
        "mean_change": found.mean_change,
        "largest_change": found.largest_change,
    }


def _canary(given: _Setting) -> dict[str, Any]:
    """Whether inserted canaries change the message, and whether they are found by shadow tables."""
    row = canary(given.table)
    found: dict[str, Any] = {
        f"message_changed_by_{copies}": bool(
            flips_of(
                given.table, [with_row(given.table, row, copies)], given.learn, given.rng
            ).messages.hits
        )
        for copies in COPIES
    }
    return found | _membership(given, row)


def _shadow(given: _Setting) -> dict[str, Any]:
    return _membership(given, None)


def _membership(given: _Setting, row: np.ndarray | None) -> dict[str, Any]:
    found = shadow_membership(
        given.population,
        given.learn,
        given.table.n_rows,
        given.rng,
        targets=given.sizes.targets,
        shadows=given.sizes.shadows,
        row=row,
    )
    return asdict(found)


def _reidentify(given: _Setting) -> dict[str, Any]:
    """Two runs of the same sites, on halves of their rows."""
    parts = partition_iid(given.table.n_rows, given.sizes.sites, given.rng)
    halves = [np.array_split(given.rng.permutation(part), 2) for part in parts]
    runs = [
        [given.learn(given.table.take(pair[k]), given.rng)[0][0] for pair in halves] for k in (0, 1)
    ]
    return {**asdict(reidentify(*runs)), "chance": 1 / given.sizes.sites}


def _epsilon(given: _Setting) -> dict[str, Any]:
    """Replays of a private learner's draws on neighbours, and a lower bound from its edges."""
    if given.settings.learner == "dp-moments":
        numbers = given.table.kind == "gaussian"
        return _epsilon_of_number_moments(given) if numbers else _epsilon_of_moments(given)
    mechanism, draws = _mechanism(given.settings, given.table.n)
    promised = promise(given.settings)
    rho, source, table = Fraction(promised.rho), SystemRandom(), given.table
    replays = []
    for other in _neighbours(given):
        _, transcript = run_privately(mechanism, table, rho=rho, draws=draws, source=source)
        replays.append(replay(mechanism, transcript, other, Budget.of(rho, draws)))

    def edges(side: Dataset) -> int:
        return run_privately(mechanism, side, rho=rho, draws=draws, source=source)[0].n_edges

    return {
        "claim": promised.words,
        "replays": asdict(Share.of_trials(sum(r.caught for r in replays), len(replays))),
        "same_candidates": all(r.same_candidates for r in replays),
        "largest_range": max(r.largest_range for r in replays),
        "allowed_range": replays[0].allowed_range,
        "largest_rho": max(r.rho for r in replays),
        "allowed_rho": replays[0].allowed_rho,
        **_bound_by_edges(given, edges),
        "caught": any(r.caught for r in replays),
    }


def _epsilon_of_moments(given: _Setting) -> dict[str, Any]:
    """The same for dp-moments: replays of its releases and of its draws."""
    promised, source, table = promise(given.settings), SystemRandom(), given.table
    rho, chosen = Fraction(promised.rho), given.settings.max_parents
    parents = MAX_PARENTS if chosen is None else chosen
    of_releases, of_draws, draws = phases(rho, table.n)

    def moments(side: Dataset, releaser: Releaser) -> PDAG:
        return moment_class(side, releaser, parents)

    released, drawn = [], []
    for other in _neighbours(given):
        releaser = PrivateReleaser(of_releases, source)
        mechanism = drawing_from(moments(table, releaser), parents)
        _, transcript = run_privately(mechanism, table, rho=of_draws, draws=draws, source=source)
        questions = ReleaseTranscript(of_releases, tuple(releaser.releases))
        released.append(replay_releases(moments, questions, other, of_releases))
        drawn.append(replay(mechanism, transcript, other, Budget.of(of_draws, draws)))
    both = [a.caught or b.caught for a, b in zip(released, drawn, strict=True)]

    def edges(side: Dataset) -> int:
        return dp_moments(side, rho=rho, source=source, max_parents=parents)[0].n_edges

    return {
        "claim": promised.words,
        "replays": asdict(Share.of_trials(sum(both), len(both))),
        "same_questions": all(r.same_questions for r in released),
        "same_candidates": all(r.same_candidates for r in drawn),
        "largest_share": max(r.largest_share for r in released),
        "largest_rho": max(a.rho + b.rho for a, b in zip(released, drawn, strict=True)),
        "allowed_rho": released[0].allowed_rho + drawn[0].allowed_rho,
        **_bound_by_edges(given, edges),
        "caught": any(both),
    }


def _epsilon_of_number_moments(given: _Setting) -> dict[str, Any]:
    """The same for dp-moments on numbers, which has releases alone."""
    promised, source, table = promise(given.settings), SystemRandom(), given.table
    rho, chosen = Fraction(promised.rho), given.settings.max_parents
    parents = MAX_PARENTS if chosen is None else chosen
    bounds = Bounds.of(stated_bounds(given.settings), table.names)

    def moments(side: Dataset, releaser: Releaser) -> PDAG:
        return number_class(side, bounds, releaser, parents)

    replays = []
    for other in _neighbours(given):
        releaser = PrivateReleaser(rho, source)
        moments(table, releaser)
        questions = ReleaseTranscript(rho, tuple(releaser.releases))
        replays.append(replay_releases(moments, questions, other, rho))

    def edges(side: Dataset) -> int:
        mechanism = dp_number_moments(side, bounds, rho=rho, source=source, max_parents=parents)
        return mechanism[0].n_edges

    return {
        "claim": promised.words,
        "replays": asdict(Share.of_trials(sum(r.caught for r in replays), len(replays))),
        "same_questions": all(r.same_questions for r in replays),
        "largest_share": max(r.largest_share for r in replays),
        "largest_rho": max(r.rho for r in replays),
        "allowed_rho": replays[0].allowed_rho,
        **_bound_by_edges(given, edges),
        "caught": any(r.caught for r in replays),
    }


def _neighbours(given: _Setting) -> Iterator[Dataset]:
    """The table without a row, or with a canary, in turn."""
    table = given.table
    removals = min(given.sizes.removals, table.n_rows)
    rows = given.rng.choice(table.n_rows, size=removals, replace=False)
    for number, row in enumerate(rows.tolist()):
        yield with_row(table, canary(table)) if number % 2 else without_row(table, row)


def _bound_by_edges(given: _Setting, edges: Callable[[Dataset], int]) -> dict[str, Any]:
    """The lower bound on ε from the edges of runs with and without a canary."""
    runs = max(4, min(given.sizes.removals, given.table.n_rows))
    sides = (given.table, with_row(given.table, canary(given.table)))
    found = [[edges(side) for _ in range(runs)] for side in sides]
    bound = epsilon_lower_bound(found[0], found[1], given.settings.delta)
    return {"lower_bound": bound, "runs_of_the_bound": runs}


def _mechanism(settings: LearnerSettings, n: int) -> tuple[Mechanism, int]:
    """A private learner's mechanism and its most draws."""
    parents, draws = settings.max_parents, math.ceil(Fraction(settings.dp_edges) * n)
    if settings.learner == "dp-climb":
        return climbing(2 if parents is None else parents), draws
    if settings.learner == "dp-ges":
        backward = math.ceil(DELETIONS * n)
        return class_climbing(4 if parents is None else parents, backward), draws + backward
    raise ConfigError(
        "the game epsilon is for the private learners dp-climb, dp-ges and dp-moments, not for "
        f"{settings.learner!r}: it claims no ε"
    )


_GAMES: Mapping[Game, Callable[[_Setting], dict[str, Any]]] = {
    Game.flips: _flips,
    Game.shadow: _shadow,
    Game.canary: _canary,
    Game.epsilon: _epsilon,
    Game.reidentify: _reidentify,
}


def _show(value: Any) -> str:
    if isinstance(value, dict):
        return f"{value['hits']} of {value['of']} (95 %: {value['low']:.3f} to {value['high']:.3f})"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
