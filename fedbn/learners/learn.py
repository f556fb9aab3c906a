"""The one table of learners: a name and a data set in, weighted DAGs out.

A learner is a function ``(dataset, settings, rng, start) -> Found``. Adding one to LEARNERS is all
that the apps, the command and the experiments need to know about it. Learners import their search
lazily: a client process loads only what it runs.
"""

from __future__ import annotations

import math
import os
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cache, partial
from typing import TYPE_CHECKING

import numpy as np

from fedbn.data.dataset import Dataset, Schema
from fedbn.errors import ConfigError, FedbnWarning, SearchError
from fedbn.graphs.dag import DAG
from fedbn.limits import STATUSES

if TYPE_CHECKING:
    from fedbn.scores import TabulatedScore
    from fedbn.search.knowledge import Knowledge
    from fedbn.search.result import SearchResult


@dataclass(frozen=True)
class LearnerSettings:
    """What a client runs on its table.

    Attributes
    ----------
    learner : str
        A key of LEARNERS.
    score : str
        A key of `fedbn.scores.SCORES`.
    ess : float
        Equivalent sample size of BDeu.
    max_parents : int or None
        Largest in-degree that the search may make; None for no limit.
    max_t : int or None
        GES and XGES-0: largest |T| of an Insert (and its like of a Turn); None for no limit.
    memory_mb : float
        Bound on the stored local scores and bitmaps, in MB; a full store is emptied.
    knowledge : str or None
        Path of a file of background knowledge (`fedbn.search.knowledge`), read where the learner
        runs: every site may have its own.
    turning, repeat : bool
        GES: add the turning phase; go round the phases until none improves.
    random_ties : bool
        Greedy searches: break ties with the run's seed instead of by name.
    bayes_factor : float
        Credible sets: structures within this factor of the best one.
    max_dags : int
        Credible and bootstrap sets: the heaviest so many DAGs are sent.
    replicates : int
        Bootstrap: number of resampled tables.
    seconds : float or None
        Time limit of the search; what was found until then is the result.
    pricing : str or None
        CG-DCA: one of PRICINGS; None for dca, or local-search where the score has no DCA.
    inner : str
        CG-DCA: solver of DCA's convex problems, one of INNER_SOLVERS.
    start_point : str
        CG-DCA: where DCA begins, one of START_POINTS.
    search_memory_mb : float or None
        Learners cg-dca, optimal and ordering: MB that the search may hold; None for what is free.
    """

    learner: str = "ges"
    score: str = "bdeu"
    ess: float = 1.0
    max_parents: int | None = None
    max_t: int | None = None
    memory_mb: float = 512.0
    knowledge: str | None = None
    turning: bool = False
    repeat: bool = False
    random_ties: bool = False
    bayes_factor: float = 20.0
    max_dags: int = 20
    replicates: int = 100
    seconds: float | None = None
    pricing: str | None = None
    inner: str = "minimum-norm"
    start_point: str = "hybrid"
    search_memory_mb: float | None = None

    def __post_init__(self) -> None:
        if not self.ess > 0:
            raise ConfigError(f"ess must be positive, not {self.ess}")
        if self.max_parents is not None and self.max_parents < 0:
            raise ConfigError(f"max-parents must be at least 0, not {self.max_parents}")
        if self.max_t is not None and self.max_t < 0:
            raise ConfigError(f"max-t must be at least 0, not {self.max_t}")
        if not 1 <= self.memory_mb < math.inf:
            raise ConfigError(f"memory-mb must be at least 1 and finite, not {self.memory_mb}")
        if self.search_memory_mb is not None and not 0 < self.search_memory_mb < math.inf:
            raise ConfigError(
                f"search-memory-mb must be positive and finite, not {self.search_memory_mb}"
            )
        if not self.bayes_factor >= 1:
            raise ConfigError(f"bf must be at least 1, not {self.bayes_factor}")
        if self.max_dags < 1 or self.replicates < 1:
            raise ConfigError(
                "max-dags and replicates must be at least 1, "
                f"not {self.max_dags} and {self.replicates}"
            )
        if self.seconds is not None and not 0 < self.seconds < math.inf:
            raise ConfigError(f"learner-seconds must be positive and finite, not {self.seconds}")
        for name, value, known in (
            ("pricing", self.pricing, PRICINGS),
            ("inner", self.inner, INNER_SOLVERS),
            ("start-point", self.start_point, START_POINTS),
        ):
            if value is not None and value not in known:
                raise ConfigError(f"{name} must be one of {', '.join(known)}, not {value!r}")
        self._require_used()

    def _require_used(self) -> None:
        """Refuse a setting that the learner has no use for: it would be ignored in silence."""
        for field in fields(self):
            users = USERS.get(field.name, ())
            given = getattr(self, field.name) != field.default
            if users and given and self.learner in LEARNERS and self.learner not in users:
                name = SHORT.get(field.name, field.name.replace("_", "-"))
                raise ConfigError(
                    f"{name} is for {', '.join(users)}; the learner {self.learner!r} has no use "
                    "for it"
                )


@dataclass(frozen=True)
class Certificate:
    """What is proven of a score: "optimal", "feasible with bound" or "heuristic".

    `upper_bound` (no DAG scores more) and `gap` are None where nothing is proven; `proof` says in
    words what the bound rests on.
    """

    status: str
    upper_bound: float | None = None
    gap: float | None = None
    proof: str | None = None


@dataclass(frozen=True)
class Found:
    """What a learner returns: DAGs in name order, a weight for each, a word of STATUSES.

    `score` is that of the best DAG, higher is better; None when the learner has no single score.
    `certificate` is given by the learners that search for an optimum.
    """

    dags: tuple[DAG, ...]
    weights: tuple[float, ...]
    status: str
    score: float | None
    certificate: Certificate | None = None


@dataclass(frozen=True)
class LearnedStructures:
    """What :func:`learn` found, and for humans what it took.

    `seconds` are CPU seconds of scoring and search alone; `startup_seconds` those of importing the
    search and of compiling or loading its kernels, which the first call of a process pays.
    """

    dags: tuple[DAG, ...]
    weights: tuple[float, ...]
    status: str
    score: float | None
    seconds: float
    startup_seconds: float
    certificate: Certificate | None = None


Learner = Callable[[Dataset, LearnerSettings, np.random.Generator, DAG | None], Found]


def learn(
    dataset: Dataset,
    settings: LearnerSettings,
    rng: np.random.Generator,
    start: DAG | None = None,
) -> LearnedStructures:
    """Learn structures from one table.

    Parameters
    ----------
    dataset : Dataset
        The table; its kind must suit the score.
    settings : LearnerSettings
        Which learner, which score, which limits.
    rng : numpy.random.Generator
        For learners that are random.
    start : DAG or None
        Where the search starts, over the same names; None for the empty graph.

    Raises
    ------
    ConfigError
        The learner or the score is unknown, or does not suit the kind of data.
    """
    learner = learner_named(settings.learner)
    began = _cpu_seconds()
    _warm_up(settings.learner, settings.score, settings.turning)
    ready = _cpu_seconds()
    found = learner(dataset, settings, rng, start)
    return LearnedStructures(
        dags=found.dags,
        weights=found.weights,
        status=found.status,
        score=found.score,
        seconds=_cpu_seconds() - ready,
        startup_seconds=ready - began,
        certificate=found.certificate,
    )


def _cpu_seconds() -> float:
    """CPU seconds of this process and of its children that have ended."""
    times = os.times()
    return time.process_time() + times.children_user + times.children_system


def learner_named(name: str) -> Learner:
    """The learner with this name; raises ConfigError listing the known ones."""
    if name not in LEARNERS:
        raise ConfigError(f"unknown learner {name!r}: it must be one of {', '.join(LEARNERS)}")
    return LEARNERS[name]


def kind_of_score(score: str) -> str:
    """The kind of data that a score is for; raises ConfigError for an unknown score."""
    from fedbn.scores import SCORES

    if score not in SCORES:
        raise ConfigError(f"unknown score {score!r}: it must be one of {', '.join(SCORES)}")
    return str(SCORES[score].kind)


def _ges(
    dataset: Dataset, settings: LearnerSettings, rng: np.random.Generator, start: DAG | None
) -> Found:
    """Chickering's greedy equivalence search; its CPDAG's canonical extension."""
    from fedbn.search.ges import ges

    search = partial(ges, turning=settings.turning, repeat=settings.repeat)
    return _over_classes(search, dataset, settings, rng, start)


def _xges0(
    dataset: Dataset, settings: LearnerSettings, rng: np.random.Generator, start: DAG | None
) -> Found:
    """XGES-0: the best Delete, else the best Turn, else the best Insert."""
    from fedbn.search.xges import xges0

    return _over_classes(xges0, dataset, settings, rng, start)


def _xges(
    dataset: Dataset, settings: LearnerSettings, rng: np.random.Generator, start: DAG | None
) -> Found:
    """XGES: XGES-0, then again from where an edge is taken away, until that brings nothing."""
    from fedbn.search.xges import xges

    return _over_classes(xges, dataset, settings, rng, start)


def _over_classes(
    search: Callable[..., SearchResult],
    dataset: Dataset,
    settings: LearnerSettings,
    rng: np.random.Generator,
    start: DAG | None,
) -> Found:
    """A search over equivalence classes with the settings that all of them have."""
    return _one(
        search(
            _score(dataset, settings),
            start=start,
            max_parents=settings.max_parents,
            max_t=settings.max_t,
            seconds=settings.seconds,
            knowledge=_known(settings),
            rng=rng if settings.random_ties else None,
        )
    )


def _hill_climbing(
    dataset: Dataset, settings: LearnerSettings, rng: np.random.Generator, start: DAG | None
) -> Found:
    """Hill climbing over DAGs with a tabu list, the baseline."""
    from fedbn.search.hill_climbing import hill_climbing

    return _one(
        hill_climbing(
            _score(dataset, settings),
            start=start,
            tabu=HILL_CLIMBING_TABU,
            max_parents=settings.max_parents,
            seconds=settings.seconds,
            knowledge=_known(settings),
        )
    )


def _bootstrap(
    dataset: Dataset, settings: LearnerSettings, rng: np.random.Generator, start: DAG | None
) -> Found:
    """GES on resampled rows: the most frequent DAGs, weighted by their frequency.

    A time limit holds for the replicates together, shared equally. There is no single score.
    """
    from fedbn.search.bootstrap import bootstrap

    each = None if settings.seconds is None else settings.seconds / settings.replicates
    limited: list[str] = []

    def one(sample: Dataset, generator: np.random.Generator) -> DAG:
        found = _ges(sample, replace(settings, seconds=each), generator, start)
        limited.append(found.status)
        return found.dags[0]

    dags, weights = bootstrap(dataset, one, rng=rng, replicates=settings.replicates).weighted()
    kept = weights[: settings.max_dags]
    status = "time limit" if "time limit" in limited else "complete"
    return Found(dags[: settings.max_dags], tuple(w / sum(kept) for w in kept), status, None)


def _credible(
    dataset: Dataset, settings: LearnerSettings, rng: np.random.Generator, start: DAG | None
) -> Found:
    """The heaviest classes within a Bayes factor of the best, one DAG each.

    Warns of what is left out. The set does not depend on where a search starts, so `start` is
    of no use here.
    """
    from fedbn.credible.client import credible_structures

    found = credible_structures(
        dataset,
        settings.score,
        ess=settings.ess,
        bayes_factor=settings.bayes_factor,
        max_dags=settings.max_dags,
        max_parents=settings.max_parents,
        seconds=settings.seconds,
        rng=rng,
    )
    if found.reason:
        warnings.warn(f"not the whole credible set: {found.reason}", FedbnWarning, stacklevel=2)
    if found.dropped > 0.005:
        share = f"{100 * found.dropped:.1f} %"
        text = f"{share} of the credible weight is in classes that are not sent"
        warnings.warn(text, FedbnWarning, stacklevel=2)
    return Found(found.dags, found.weights, found.status, found.score)


def _cg_dca(
    dataset: Dataset, settings: LearnerSettings, rng: np.random.Generator, start: DAG | None
) -> Found:
    """CG-DCA as published, in a process of its own: a heuristic without bound.

    It begins with no edges, whatever `start`. Where a solver fails, the ordering search over small
    parent sets gives the DAG, with a warning.
    """
    from fedbn.search.cg_dca.choices import START_POINTS, pricing_for
    from fedbn.search.cg_dca.isolated import learn_isolated
    from fedbn.search.optimal.isolated import FALLBACK, fallback

    score, memory = _score(dataset, settings), settings.search_memory_mb
    try:
        result = learn_isolated(
            score,
            pricing=pricing_for(score, settings.pricing, settings.inner),
            start=START_POINTS[settings.start_point],
            max_parents=settings.max_parents,
            seconds=settings.seconds,
            memory=None if memory is None else int(memory * 2**20),
            rng=rng,
        )
    except SearchError as error:
        best = fallback(score, settings.max_parents, rng, str(error))
        warnings.warn(f"cg-dca failed: {best.proof}", FedbnWarning, stacklevel=2)
        return Found((best.dag,), (1.0,), FALLBACK, best.score, Certificate(best.status))
    status = result.limit or "complete"
    return Found((result.dag,), (1.0,), status, result.score, Certificate(result.status))


def _optimal(
    dataset: Dataset, settings: LearnerSettings, rng: np.random.Generator, start: DAG | None
) -> Found:
    """The proven optimum, or as much of it as the limits allow; `start` is of no use here."""
    return _by_proof(dataset, settings, rng, "auto")


def _ordering(
    dataset: Dataset, settings: LearnerSettings, rng: np.random.Generator, start: DAG | None
) -> Found:
    """Ordering search over all undominated parent sets: seldom short of the optimum, no bound."""
    return _by_proof(dataset, settings, rng, "ordering")


def _by_proof(
    dataset: Dataset, settings: LearnerSettings, rng: np.random.Generator, method: str
) -> Found:
    """`learn_optimal` in a process of its own; warns when it had to fall back."""
    from fedbn.search.optimal.isolated import FALLBACK, learn_isolated

    memory = settings.search_memory_mb
    found = learn_isolated(
        _score(dataset, settings),
        method,
        seconds=settings.seconds,
        memory=None if memory is None else int(memory * 2**20),
        max_parents=settings.max_parents,
        rng=rng,
    )
    words = [word for word in STATUSES[1:] if word in found.limit]
    status = words[0] if words else "complete"
    if found.limit.startswith(FALLBACK):
        warnings.warn(f"no proven structure: {found.proof}", FedbnWarning, stacklevel=3)
        status = FALLBACK
    bounded = math.isfinite(found.upper_bound)
    certificate = Certificate(
        found.status,
        found.upper_bound if bounded else None,
        found.gap if bounded else None,
        found.proof,
    )
    return Found((found.dag,), (1.0,), status, found.score, certificate)


def _score(dataset: Dataset, settings: LearnerSettings) -> TabulatedScore:
    """The score that the settings name, on the table."""
    from fedbn.scores import make_score

    return make_score(settings.score, dataset, ess=settings.ess, memory_mb=settings.memory_mb)


def _known(settings: LearnerSettings) -> Knowledge | None:
    """The background knowledge in the file that the settings name, if they do."""
    if settings.knowledge is None:
        return None
    from fedbn.search.knowledge import read_knowledge

    return read_knowledge(settings.knowledge)


LEARNERS: Mapping[str, Learner] = {
    "ges": _ges,
    "xges0": _xges0,
    "xges": _xges,
    "hc": _hill_climbing,
    "cg-dca": _cg_dca,
    "optimal": _optimal,
    "ordering": _ordering,
    "bootstrap": _bootstrap,
    "credible": _credible,
}
"""Name -> learner; the names are those of the setting `learner`."""

USERS: Mapping[str, tuple[str, ...]] = {
    "knowledge": ("ges", "xges0", "xges", "hc", "bootstrap"),
    "max_t": ("ges", "xges0", "xges", "bootstrap"),
    "turning": ("ges", "bootstrap"),
    "repeat": ("ges", "bootstrap"),
    "random_ties": ("ges", "xges0", "xges", "bootstrap"),
    "bayes_factor": ("credible",),
    "max_dags": ("credible", "bootstrap"),
    "replicates": ("bootstrap",),
    "pricing": ("cg-dca",),
    "inner": ("cg-dca",),
    "start_point": ("cg-dca",),
    "search_memory_mb": ("cg-dca", "optimal", "ordering"),
}
"""Field of LearnerSettings -> the learners that it is for, where it is not for all."""

STARTED = ("ges", "xges0", "xges", "hc", "bootstrap")
"""Learners that begin at a given DAG."""

SHORT = {"bayes_factor": "bf"}
"""Fields whose setting has another name."""

ISOLATED = ("cg-dca", "optimal", "ordering")
"""Learners that load their kernels in a process of their own."""

PRICINGS = ("dca", "dca-random", "dca-permutations", "dca-greedy", "local-search")
INNER_SOLVERS = ("minimum-norm", "kelley")
START_POINTS = ("hybrid", "random", "warm")
"""Names of CG-DCA's parts, which `fedbn.search.cg_dca.choices` gives objects to."""

HILL_CLIMBING_TABU = 10
"""Steps for which the learner `hc` leaves a changed pair alone."""


def _one(result: SearchResult) -> Found:
    return Found((result.dag,), (1.0,), _status(result.status), result.score)


def _status(word: str) -> str:
    """A search's own word as one of the fixed words that may leave a client."""
    return word if word in STATUSES else "complete"


@cache
def _warm_up(learner: str, score: str, turning: bool) -> None:
    """Run the learner once per process on a table of no interest, to load its kernels."""
    if learner in ISOLATED:
        return
    replicates = 1 if learner == "bootstrap" else LearnerSettings.replicates
    settings = LearnerSettings(learner=learner, score=score, turning=turning, replicates=replicates)
    LEARNERS[learner](_any_table(kind_of_score(score)), settings, np.random.default_rng(0), None)


def _any_table(kind: str) -> Dataset:
    """Three related columns of 32 rows."""
    draws = np.random.default_rng(0).normal(size=(32, 3)).cumsum(axis=1)
    if kind == "gaussian":
        return Dataset(Schema.gaussian(("a", "b", "c")), draws)
    schema = Schema.categorical(dict.fromkeys(("a", "b", "c"), ("0", "1")))
    return Dataset(schema, (draws > 0).astype(np.int32))
