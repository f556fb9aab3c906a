"""What a client runs on its table: the settings of the learners."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

from fedbn.errors import ConfigError
from fedbn.setting import (
    Settings,
    at_least,
    equivalent_sample_size,
    finite_at_least,
    one_of,
    positive_and_finite,
    probability,
    setting,
)

__all__ = ["LADDER", "LearnerSettings"]

LADDER = "ladder"
"""The row weight that stands for all of `row_weights`, one after the other."""

INNER_SOLVERS = ("minimum-norm", "kelley")
START_POINTS = ("hybrid", "random", "warm")
PRICINGS = ("dca", "local-search")
"""Names of CG-DCA's parts, which `fedbn.search.cg_dca.choices` gives objects to."""


def _row_weight(key: str, value: Any) -> None:
    """A finite number of at least 1, or the word `ladder`."""
    if value == LADDER:
        return
    if isinstance(value, str) or not 1.0 <= value < math.inf:
        raise ConfigError(f"{key} must be a number of at least 1, or {LADDER}, not {value!r}")


def _row_weights(key: str, value: str) -> None:
    """Numbers of at least 1, ascending."""
    try:
        weights = [float(word) for word in value.split()]
    except ValueError:
        weights = []
    ascending = all(left < right for left, right in itertools.pairwise(weights))
    if not weights or not ascending or not 1.0 <= weights[0] <= weights[-1] < math.inf:
        raise ConfigError(f"{key} must be ascending numbers of at least 1, not {value!r}")


@dataclass(frozen=True)
class LearnerSettings(Settings):
    """What a client runs on its table. Which learner has a use for which setting says the learner.

    See `fedbn.learners.table.LEARNERS` for the learners and `fedbn.scores.SCORES` for the scores.

    Raises
    ------
    ConfigError : a value is out of range.
    """

    learner: str = setting(
        "ges",
        "One structure: ges, xges0 (scores more, nearly as fast), ils and xges (more still, "
        "slower), boss, hc, cg-dca, ordering, optimal (with a proof). Several, weighted: "
        "bootstrap, credible. Private: dp-climb, dp-ges, dp-moments (they need a --schema).",
    )
    score: str = setting(
        "bdeu",
        "bdeu, bic, aic (columns are categories); gaussian-bic, gaussian-aic, bge (numbers); "
        "mixed-bic, mixed-aic (both kinds: --numbers says which columns are numbers).",
    )
    ess: float = setting(
        1.0, "Equivalent sample size of BDeu, at most 1e8.", equivalent_sample_size
    )
    row_weight: float | str = setting(
        1.0,
        "How often every row counts: 2.5 admits weaker edges than 1, which the consensus of many "
        "sites can tell from chance. ladder: every site learns once per --row-weights.",
        _row_weight,
    )
    row_weights: str = setting(
        "1 1.5 2 2.5 3", "The ladder of --row-weight ladder, ascending.", _row_weights
    )
    max_parents: int | None = setting(
        None, "Most parents of one variable.", at_least(0), shown="no limit"
    )
    max_t: int | None = setting(
        None, "Largest set T of a GES Insert; only to save time.", at_least(0), shown="no limit"
    )
    candidates: int | None = setting(
        None,
        "BOSS: neighbours that are considered per variable, those that gain most by themselves; "
        "for thousands of columns.",
        at_least(1),
        shown="no limit",
    )
    memory_mb: float = setting(
        512.0,
        "MB for stored scores and bitmaps, as many for the trees of BOSS; what is full is emptied.",
        finite_at_least(1),
    )
    knowledge: str | None = setting(
        None,
        "A .json or .toml file with required and forbidden edges and tiers, which sites and "
        "consensus keep; a site may add its own.",
    )
    turning: bool = setting(False, "Add the turning phase of GES.")
    repeat: bool = setting(False, "Repeat the phases of GES until none improves.")
    random_ties: bool = setting(False, "Break ties at random (--seed), not by name.")
    bayes_factor: float = setting(
        20.0, "Structures within this Bayes factor of the best.", at_least(1), key="bf"
    )
    max_dags: int = setting(20, "Most DAGs that are sent, the heaviest ones.", at_least(1))
    replicates: int = setting(100, "Resampled tables of the bootstrap.", at_least(1))
    epsilon: float = setting(
        1.0,
        "Private learners: ε per row of one site's table (one row added or removed).",
        positive_and_finite,
    )
    delta: float = setting(1e-6, "Private learners: δ of that ε.", probability)
    dp_edges: float = setting(
        1.5, "Private learners: most arcs that are drawn, per column.", positive_and_finite
    )
    noise: str = setting(
        "system",
        "Private learners: noise of the operating system, or of the seed (seeded): then the result "
        "is for experiments, and not private.",
        one_of("system", "seeded"),
        local=True,
    )
    seconds: float | None = setting(
        None,
        "Time limit of a search; what was found until then is the result.",
        positive_and_finite,
        key="learner-seconds",
        flags=("--learner-seconds", "--seconds"),
        shown="no limit",
    )
    pricing: str | None = setting(
        None,
        "CG-DCA's pricing: dca, or local-search (any score).",
        one_of(*PRICINGS),
        shown="dca where the score allows it",
    )
    inner: str = setting(
        "minimum-norm",
        "CG-DCA's inner solver: minimum-norm or kelley.",
        one_of(*INNER_SOLVERS),
        local=True,
    )
    start_point: str = setting(
        "hybrid",
        "Where CG-DCA's pricing begins: hybrid, random or warm. (--start-dag gives a structure.)",
        one_of(*START_POINTS),
        flags=("--start",),
        local=True,
    )
    search_memory_mb: float | None = setting(
        None,
        "MB that an exact search may hold.",
        positive_and_finite,
        flags=("--memory",),
        shown="what is free",
    )

    own: tuple[str, ...] = setting(
        (),
        "Settings of a registered learner's own, KEY=VALUE each; --NAME-KEY says one, too.",
        key="learner-settings",
        shown="none",
    )

    @property
    def ladder(self) -> tuple[float, ...]:
        """The row weights that a site learns with, ascending."""
        if self.row_weight == LADDER:
            return tuple(float(word) for word in self.row_weights.split())
        return (float(self.row_weight),)

    @property
    def sends_several(self) -> bool:
        """Whether a site may have more than one structure of one row weight."""
        return self.learner in ("credible", "bootstrap")

    @property
    def single_row_weight(self) -> float:
        """The row weight of one search; raises ConfigError for a ladder."""
        if self.row_weight == LADDER:
            raise ConfigError("one search takes one row-weight; a ladder is for a federation")
        return float(self.row_weight)
