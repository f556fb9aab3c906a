"""What a client runs on its table: the settings of the learners."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

from fedbn.errors import ConfigError
from fedbn.privacy.bounds import require_bounds
from fedbn.setting import (
    Settings,
    at_least,
    between,
    equivalent_sample_size,
    finite_at_least,
    one_of,
    positive_and_finite,
    probability,
    setting,
)

LADDER = "ladder"
"""The row weight that stands for all of `row_weights`, one after the other."""

PRICINGS = ("dca", "local-search")
"""Names of CG-DCA's pricings, which `fedbn.search.cg_dca.choices` gives objects to."""


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
        "How a site learns. One structure: ges; xges0 (better scores, nearly as fast); xges and "
        "ils (better still, slower); boss; hc; cg-dca; ordering; optimal (proven). If ges is not "
        "good enough, use boss for tables of numbers, and ils for all others. "
        "Several weighted structures: bootstrap, credible. Private: dp-climb, dp-ges, dp-moments "
        "(they need --schema).",
    )
    score: str = setting(
        "bdeu",
        "For categories: bdeu, bic, aic. For numbers: gaussian-bic, gaussian-aic, bge. For both "
        "kinds in one table: mixed-bic, mixed-aic (--numbers names the columns of numbers).",
    )
    ess: float = setting(
        1.0, "Equivalent sample size of BDeu, at most 1e8.", equivalent_sample_size
    )
    row_weight: float | str = setting(
        1.0,
        "Multiply every count by this factor. Above 1, sites propose weaker edges and the "
        "consensus filters out the spurious ones. ladder: every site learns once with each of "
        "--row-weights.",
        _row_weight,
    )
    row_weights: str = setting(
        "1 1.5 2 2.5 3", "The factors of --row-weight ladder, ascending.", _row_weights
    )
    max_parents: int | None = setting(
        None, "Maximum number of parents per variable.", at_least(0), shown="no limit"
    )
    max_t: int | None = setting(
        None,
        "Maximum size of the set T of an Insert of GES. A limit only saves time.",
        at_least(0),
        shown="no limit",
    )
    candidates: int | None = setting(
        None,
        "Maximum number of candidate neighbours per variable: those that raise the score most on "
        "their own. For tables of thousands of columns.",
        at_least(1),
        shown="no limit",
    )
    memory_mb: float = setting(
        512.0,
        "Memory in MB for stored scores and bitmaps, and as much again for the trees of BOSS. When "
        "it is full, the stored values are discarded and computed again when needed. Several "
        "imputations share it.",
        finite_at_least(1),
    )
    threads: int = setting(
        1,
        "Number of threads that count for a search. The result is the same with any number.",
        at_least(1),
        local=True,
    )
    imputations: int = setting(
        1,
        "Number of completed tables, from 1 to 100, that a site makes of a table with imputed "
        "cells. It learns from each of them, and sends all structures with equal weights. Each "
        "takes four searches.",
        between(1, 100),
    )
    knowledge: str | None = setting(
        None,
        "A .json or .toml file with required edges, forbidden edges and tiers. The structures of "
        "sites and the consensus obey them; a site may add knowledge of its own.",
    )
    turning: bool = setting(False, "Add the turning phase of GES.")
    repeat: bool = setting(False, "Repeat the phases of GES until none improves.")
    random_ties: bool = setting(False, "Break ties at random (--seed), not by name.")
    bayes_factor: float = setting(
        20.0, "Include structures within this Bayes factor of the best.", at_least(1), key="bf"
    )
    max_dags: int = setting(
        20, "Maximum number of structures that a site sends, the heaviest first.", at_least(1)
    )
    replicates: int = setting(100, "Number of resampled tables.", at_least(1))
    epsilon: float = setting(
        1.0,
        "Privacy loss ε per row of one site's table (one row added or removed).",
        positive_and_finite,
    )
    delta: float = setting(
        1e-6, "The δ of the guarantee (ε, δ). It must be far below 1 / rows.", probability
    )
    dp_edges: float = setting(
        1.5,
        "Maximum number of arcs that a private learner draws, as a multiple of the number of "
        "columns.",
        positive_and_finite,
    )
    bounds: str | None = setting(
        None,
        "Bounds of columns of numbers for dp-moments, known without the table: LOW:HIGH for every "
        "column, NAME=LOW:HIGH for one, separated by ;. Numbers outside are set to the bound.",
        require_bounds,
        shown="none",
    )
    noise: str = setting(
        "system",
        "Source of the noise of private learners: system (the operating system) or seeded (from "
        "--seed: for experiments; the result is not private).",
        one_of("system", "seeded"),
        local=True,
    )
    seconds: float | None = setting(
        None,
        "Time limit of a search, in seconds. The best structure found by then is the result. If "
        "cells are imputed, all searches with one row weight share the limit; the draws of cells "
        "have none.",
        positive_and_finite,
        key="learner-seconds",
        flags=("--learner-seconds", "--seconds"),
        shown="no limit",
    )
    pricing: str | None = setting(
        None,
        "Pricing of CG-DCA: dca, or local-search (with any score).",
        one_of(*PRICINGS),
        shown="dca where the score allows it",
    )
    search_memory_mb: float | None = setting(
        None,
        "Memory limit of an exact search, in MB.",
        positive_and_finite,
        flags=("--search-memory-mb", "--memory"),
        shown="the free memory",
    )

    own: tuple[str, ...] = setting(
        (),
        "Settings of a registered learner, KEY=VALUE each; --NAME-KEY sets one as well.",
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
        return self.max_structures > 1

    @property
    def max_structures(self) -> int:
        """The maximum number of structures of one row weight that a site may have."""
        return self.max_dags if self.redraws else self.imputations

    @property
    def redraws(self) -> bool:
        """Whether a site's structures vary as those of other tables of as many rows would."""
        return self.learner in ("credible", "bootstrap")

    @property
    def single_row_weight(self) -> float:
        """The row weight of one search; raises ConfigError for a ladder."""
        if self.row_weight == LADDER:
            raise ConfigError("one search takes one row-weight; a ladder is for a federation")
        return float(self.row_weight)
