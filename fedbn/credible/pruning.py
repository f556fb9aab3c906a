"""Safe pruning: the candidate parent sets that remain for credible DAGs, and their exchange files.

The rules are those for BIC and AIC (theorems 4 and 7), BDeu (theorem 8) and Gaussian BIC (a bound
by all variables); `fedbn.search.families.parent_sets` applies them as it goes through the sets.
BGe has no such rule: give `max_parents`.
Lemma 3 drops only the set itself: P is kept iff no subset is better by more than ε = ln BF.

A categorical variable with one agreed state ties everywhere and nothing could be pruned: it is set
aside, without parents and children.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fedbn.bounded_file import read_bounded
from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema
from fedbn.errors import ConfigError, DataError, system_errors_as
from fedbn.graphs.knowledge import Knowledge
from fedbn.limits import NOTHING_MET, Limit
from fedbn.scores import make_score
from fedbn.scores.base import TabulatedScore
from fedbn.search.families.families import Families
from fedbn.search.families.known import families_that_keep
from fedbn.search.families.parent_sets import TOLERANCE, parent_sets
from fedbn.whole_file import write_whole


@dataclass(frozen=True, eq=False)
class Candidates:
    """The families that credible DAGs are made of.

    Parameters
    ----------
    families : over all variables; |Π| = families.size, empty sets counted.
    epsilon : ln BF.
    complete : False when a cap on parents, a limit or a superstructure left families out.
    scope : "" or which families are there, in words.
    met : the limits that cut the search short.
    set_aside : variables with one state, without edges but those that are required.
    knowledge : what the DAGs keep; then families are left out by it, and `complete` is False.
    """

    families: Families
    epsilon: float
    complete: bool
    scope: str
    met: frozenset[Limit]
    set_aside: tuple[str, ...]
    knowledge: Knowledge | None = None

    def keeping(
        self, knowledge: Knowledge, score: TabulatedScore, max_parents: int | None = None
    ) -> Candidates:
        """Those that keep the knowledge, as `families_that_keep` finds them; raises ConfigError for
        knowledge of other variables."""
        varying = [i for i, name in enumerate(score.names) if name not in self.set_aside]
        families, met = families_that_keep(
            self.families,
            knowledge,
            score,
            slack=self.epsilon,
            max_parents=max_parents,
            varying=varying,
        )
        more = [self.scope, "what the knowledge allows"]
        scope = ", ".join(word for word in more if word)
        return Candidates(
            families, self.epsilon, False, scope, self.met | met, self.set_aside, knowledge
        )


def log_bayes_factor(bayes_factor: float) -> float:
    """ε = ln BF; raises ConfigError below 1.

    >>> log_bayes_factor(1.0)
    0.0
    """
    if not (bayes_factor >= 1.0 and math.isfinite(bayes_factor)):
        raise ConfigError(f"the Bayes factor must be at least 1, not {bayes_factor}")
    return math.log(bayes_factor)


def candidate_sets(
    dataset: Dataset,
    score: str = "bic",
    *,
    bayes_factor: float = 20.0,
    ess: float = 1.0,
    row_weight: float = 1.0,
    max_parents: int | None = None,
    memory: int | None = None,
    seconds: float | None = None,
    progress: Callable[[int, int], None] | None = None,
    knowledge: Knowledge | None = None,
) -> Candidates:
    """The candidate parent sets at a Bayes factor, by the exact rule.

    Parameters
    ----------
    dataset : two rows at least.
    score : a name of `fedbn.scores.SCORES`; ess for BDeu.
    row_weight : by which every count is multiplied; see `make_score`.
    max_parents, memory (bytes), seconds : limits; see `parent_sets`. When time ends, or at Ctrl-C,
        the sizes that are done are returned.
    knowledge : what every DAG of the candidates keeps.

    Raises
    ------
    DataError : one row, which rejects no structure.
    ConfigError : unknown score, or BF < 1.
    SearchError : the memory does not suffice.
    """
    epsilon = log_bayes_factor(bayes_factor)
    if dataset.n_rows < 2:
        raise DataError("credible sets need at least 2 rows: one row rejects no structure")
    if dataset.kind == "mixed":
        aside = np.flatnonzero(np.ptp(dataset.table, axis=0) == 0.0).tolist()
    else:
        sizes = [len(variable.states or "??") for variable in dataset.schema.variables]
        aside = [i for i, size in enumerate(sizes) if size == 1]
    used = [i for i in range(dataset.n) if i not in set(aside)]
    if not used:
        raise DataError("credible sets need a variable with at least 2 states")
    part = dataset
    if aside:
        variables = tuple(dataset.schema.variables[i] for i in used)
        part = Dataset(Schema(variables), dataset.table[:, used])
    found = parent_sets(
        make_score(score, part, ess=ess, row_weight=row_weight), slack=epsilon,
        max_parents=max_parents, memory=memory, seconds=seconds, progress=progress,
    )  # fmt: skip
    families = found.families
    if aside:
        families = families.among(dataset.names, used)
    names = tuple(dataset.names[i] for i in aside)
    scope = "" if found.complete else f"at most {found.largest} parents per variable"
    whole = Candidates(families, epsilon, found.complete, scope, found.met, names)
    if knowledge is None:
        return whole
    scored = make_score(score, dataset, ess=ess, row_weight=row_weight)
    return whole.keeping(knowledge, scored, max_parents)


PAPER_EPSILON = {3.0: 1.1, 20.0: 3.1, 150.0: 5.1}
"""The ε that the paper's Table 1 was made with, by Bayes factor."""


def listed_candidates(families: Families, *, bayes_factor: float = 20.0) -> Candidates:
    """The candidates among given families: those that no given subset beats by more than ε.

    Families that are not given are taken to be in no credible DAG.
    """
    epsilon = log_bayes_factor(bayes_factor)
    keep = np.ones(families.size, dtype=np.bool_)
    for i in range(families.n):
        first, last = int(families.start[i]), int(families.start[i + 1])
        parents, cost = families.has_parent[first:last], families.cost[first:last]
        for k in range(last - first):
            better = np.flatnonzero(cost + epsilon + TOLERANCE < cost[k])
            keep[first + k] = (parents[better] & ~parents[k]).any(axis=1).all()
    return Candidates(families.select(keep), epsilon, True, "", NOTHING_MET, ())


def paper_parent_sets(
    dataset: Dataset, score: str = "bic", *, epsilon: float, ess: float = 1.0
) -> int:
    """The number of parent sets by the bookkeeping of the paper's Table 1, which keeps more.

    A set is compared with its immediate subsets only, of which a dropped one stands for the best
    that dropped it; for `epsilon` see PAPER_EPSILON.
    """
    return parent_sets(
        make_score(score, dataset, ess=ess), slack=epsilon, chained=True
    ).families.size


def write_scores(families: Families, path: str | Path) -> None:
    """Write the local scores in the format of Jaakkola et al. and GOBNILP.

    The number of variables; then per variable `name number`, and per parent set
    `score size parents...`, the score to be maximised.
    """
    lines = [str(families.n)]
    for i, name in enumerate(families.names):
        if any(c.isspace() for c in name):
            raise DataError(f"names in a file of scores must have no space, not {name!r}")
        first, last = int(families.start[i]), int(families.start[i + 1])
        lines.append(f"{name} {last - first}")
        for f in range(first, last):
            parents = [families.names[j] for j in families.parents(f)]
            lines.append(" ".join([repr(-float(families.cost[f])), str(len(parents)), *parents]))
    write_whole(path, "\n".join(lines) + "\n")


def read_scores(path: str | Path) -> Families:
    """Families from a file as `write_scores` makes; variables sorted by name.

    Raises
    ------
    DataError : naming the line that is not as it must be.
    """
    with system_errors_as(DataError, f"{path} cannot be read"):
        lines = read_bounded(path).decode("utf-8").split("\n")
    rows = [(k + 1, line.split()) for k, line in enumerate(lines) if line.strip()]
    try:
        at, blocks = 1, {}
        for _ in range(int(rows[0][1][0])):
            name, size = rows[at][1][0], int(rows[at][1][1])
            blocks[name] = rows[at + 1 : at + 1 + size]
            at += 1 + size
        names = tuple(sorted(blocks))
        index = {name: i for i, name in enumerate(names)}
        lists: list[list[tuple[float, list[int]]]] = []
        for name in names:
            pairs = []
            for _, words in blocks[name]:
                if len(words) != 2 + int(words[1]):
                    raise ValueError("the number of parents does not fit")
                pairs.append((-float(words[0]), [index[p] for p in words[2:]]))
            lists.append(pairs)
    except (ValueError, IndexError, KeyError):
        line = rows[min(at, len(rows) - 1)][0] if rows else 0
        raise DataError(
            f"{path}, near line {line}: a file of local scores has the number of variables; per "
            "variable 'name sets'; per set 'score size parents...'"
        ) from None
    if not np.isfinite([cost for pairs in lists for cost, _ in pairs]).all():
        raise DataError(f"{path}: scores must be finite")
    return Families.from_parents(names, lists)
