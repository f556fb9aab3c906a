"""Learn a structure from one table."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from fedbn.api.drawing import dag_axes, frame_of, network_html
from fedbn.api.plugins import name_for
from fedbn.api.progress import progress_bar
from fedbn.data.dataset import Dataset
from fedbn.data.table import Table, dataset_of
from fedbn.errors import ConfigError, did_you_mean
from fedbn.graphs.dag import DAG
from fedbn.graphs.knowledge import knowledge_of
from fedbn.graphs.pdag import PDAG, dag_to_cpdag
from fedbn.learners import LEARNERS, LearnedStructures, LearnerSettings, learner_for
from fedbn.learners import learn as learn_by_name
from fedbn.learners.learner import any_score_of
from fedbn.learners.plugins import LearnerFunction
from fedbn.own_settings import own_settings, own_texts
from fedbn.scores import total_score
from fedbn.wording import count_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

DEFAULT_SCORES = {"categorical": "bdeu", "gaussian": "gaussian-bic", "mixed": "mixed-bic"}


@dataclass(frozen=True)
class EdgeShare:
    """An edge, and the share of the learned weight that has it; 1 where there is one DAG."""

    parent: str
    child: str
    share: float


@dataclass(frozen=True, eq=False, repr=False)
class Learned:
    """What a learner found.

    Attributes
    ----------
    dags, weights : the structures, names sorted; most learners give one DAG of weight 1.
    score : of `dag` on the table, higher is better; None where missing cells were filled and there
        are several structures, or several imputations, as no complete table was kept.
    bound : no DAG scores more than this; None where the learner proves nothing.
    status : the learner's word: "complete", or which limit ended the search.
    certificate : what is proven of `score`, "heuristic" where nothing is.
    learner, score_name : which learner and which score.
    seconds : CPU seconds of scoring and search.
    """

    dags: tuple[DAG, ...]
    weights: tuple[float, ...]
    score: float | None
    bound: float | None
    status: str
    certificate: str
    learner: str
    score_name: str
    seconds: float

    @property
    def dag(self) -> DAG:
        """The heaviest structure; the first of several."""
        return self.dags[int(np.argmax(self.weights))]

    @property
    def cpdag(self) -> PDAG:
        """The equivalence class of `dag`."""
        return dag_to_cpdag(self.dag)

    def edges_frame(self) -> pd.DataFrame:
        """Columns parent, child, share: every edge of `dags`, sorted by parent and child."""
        total = sum(self.weights)
        shares: dict[tuple[str, str], float] = {}
        for dag, weight in zip(self.dags, self.weights, strict=True):
            for edge in dag.edges:
                shares[edge] = shares.get(edge, 0.0) + weight / total
        rows = [EdgeShare(*edge, share) for edge, share in sorted(shares.items())]
        return frame_of(EdgeShare, rows)

    def plot(self, ax: Axes | None = None) -> Axes:
        """`dag` in layers, on `ax` or on axes of a new pyplot figure; the matplotlib axes."""
        return dag_axes(self.dag, ax=ax)

    def _repr_html_(self) -> str:
        return network_html(self.dag, self.edges_frame(), repr(self))

    def __repr__(self) -> str:
        more = "" if len(self.dags) == 1 else f", {len(self.dags)} DAGs"
        told = "" if self.score is None else f" {self.score:.2f}"
        return (
            f"Learned({self.learner}: {count_of(self.dag.n, 'node')}, "
            f"{count_of(self.dag.n_edges, 'edge')}, "
            f"{self.score_name}{told}, {self.status}{more})"
        )


def learn(
    table: Table | Dataset,
    learner: str | LearnerFunction = "ges",
    *,
    score: str | None = None,
    seed: int = 1,
    start: DAG | None = None,
    **settings: Any,
) -> Learned:
    """Learn a structure from one table.

    Parameters
    ----------
    table : a Table.
    learner : ges, xges0, xges, ils, boss, hc, optimal, ordering, cg-dca, credible or bootstrap; a
        name that was registered; or a function as `fedbn.register_learner` takes.
    score : bdeu, bic, aic, gaussian-bic, gaussian-aic, bge, mixed-bic or mixed-aic; by default
        bdeu for states, gaussian-bic for floats, mixed-bic for a table of both.
    seed : of learners that are random.
    start : where the search begins, over the same names; the empty graph by default.
    settings : other fields of `fedbn.learners.LearnerSettings`, like max_parents=3, and those that
        the learner adds; knowledge may be a mapping with required, forbidden and tiers, or a file
        of them.

    Raises
    ------
    ConfigError : a name or a setting is unknown, out of range, or of no use to the learner.
    DataError : this is no table, or not of the kind that the score needs.
    PluginError : a learner or a score of somebody else failed, or gave what is no structure.

    Examples
    --------
    >>> table = Table.from_columns({"a": "0011" * 20, "b": "0011" * 20, "c": "0101" * 20})
    >>> learn(table, "hc").dag.edges
    (('b', 'a'),)
    """
    dataset = dataset_of(table)
    with name_for(LEARNERS, learner) as name:
        chosen = learner_settings(dataset, name, score, settings)
        if start is not None and not learner_for(chosen).takes_start:
            raise ConfigError(f"the learner {name!r} has no use for a start")
        with progress_bar(f"fedbn.learn, {name}"):
            found = learn_by_name(dataset, chosen, np.random.default_rng(seed), start)
        return _as_learned(dataset, chosen, found)


def default_score(dataset: Dataset) -> str:
    """The score that is taken where none is given."""
    return DEFAULT_SCORES[dataset.kind]


def learner_settings(
    dataset: Dataset, learner: str, score: str | None, settings: dict[str, Any]
) -> LearnerSettings:
    """The settings of a learner from keywords; raises ConfigError for an unknown one."""
    chosen = LEARNERS.find(learner)
    own = {each.name: each.key for each in own_settings(chosen.own, LearnerSettings)}
    shared = {field.name for field in fields(LearnerSettings)} - {"learner", "score", "own"}
    for name in settings:
        if name not in shared | set(own):
            keywords = {"table", "score", "seed", "start", "learner"}
            hint = did_you_mean(name, shared | set(own) | keywords)
            known = f"it must be one of {', '.join(sorted(shared | set(own)))}"
            raise ConfigError(f"{name!r} is no setting of a learner{hint or f': {known}'}")
    if chosen.is_private:
        raise ConfigError(
            f"{learner} promises nothing without a given schema and a ledger: use `fedbn learn`, "
            "or the functions of fedbn.privacy"
        )
    texts = own_texts({own[name]: value for name, value in settings.items() if name in own})
    rest = {name: value for name, value in settings.items() if name not in own}
    if rest.get("knowledge") is not None:
        rest["knowledge"] = knowledge_of(rest["knowledge"]).text
    score = score or default_score(dataset)
    return LearnerSettings(learner=learner, score=score, own=texts, **rest)


def _as_learned(dataset: Dataset, settings: LearnerSettings, found: LearnedStructures) -> Learned:
    dag = found.dags[int(np.argmax(found.weights))]
    score = found.score
    if dataset.gone is None and (score is None or len(found.dags) > 1):
        score = total_score(any_score_of(dataset, settings), dag)
    return Learned(
        dags=found.dags,
        weights=found.weights,
        score=score,
        bound=found.certificate.upper_bound,
        status=found.status,
        certificate=found.certificate.certificate,
        learner=settings.learner,
        score_name=settings.score,
        seconds=found.seconds,
    )
