"""What `fedbn credible` does: all structures within a Bayes factor of the best."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fedbn.credible import averaging
from fedbn.credible.classes import markov_classes
from fedbn.credible.coverage import MAX_VARIABLES, covered_share
from fedbn.credible.enumerate import credible_set
from fedbn.credible.pruning import (
    PAPER_EPSILON,
    candidate_sets,
    listed_candidates,
    paper_parent_sets,
    read_scores,
)
from fedbn.errors import ConfigError, SearchError
from fedbn.graphs.directions import directed_words
from fedbn.limits import Limit
from fedbn.scores import make_score
from fedbn.whole_file import require_writable
from fedbn.wording import count_of
from simulations.commands.credible_output import show, write_files
from simulations.commands.learn import read_table
from simulations.progress import stages
from simulations.terminal import print_json

if TYPE_CHECKING:
    from fedbn.credible.classes import MarkovClasses
    from fedbn.credible.enumerate import CredibleSet
    from fedbn.credible.pruning import Candidates
    from fedbn.data.dataset import Dataset
    from fedbn.data.table_settings import TableSettings
    from fedbn.graphs.dag import DAG

SCORE_FILES = (".jkl", ".scores")
AFTER_INTERRUPTION = 2.0  # seconds for what can still be said


@dataclass(frozen=True)
class Scored:
    """A table and how it is scored, or a file of local scores; and the limits of the search."""

    table: Path
    score: str
    bf: float
    ess: float
    schema: Path | None
    prepared: TableSettings
    max_parents: int | None
    memory: int | None  # bytes
    seconds: float | None

    @property
    def is_scored(self) -> bool:
        """Whether it is a file of local scores."""
        return self.table.suffix in SCORE_FILES

    def read(self) -> Dataset:
        """The table, its columns read as the score needs them."""
        return read_table(self.table, self.score, self.schema, self.prepared)


@dataclass(frozen=True)
class Output:
    """Where the answer goes."""

    out: Path | None
    threshold: float
    figures: Path | None
    scores: Path | None
    as_json: bool
    quiet: bool


@dataclass(frozen=True)
class Wanted:
    """What is to be computed of the set."""

    count: bool
    most: int | None
    k_best: int | None
    per_class: bool
    ancestors: bool
    v_structures: bool
    samples: int | None
    seed: int
    paper: bool

    def require_consistent(self, output: Output) -> None:
        """Refuse options that exclude each other."""
        out, figures = output.out, output.figures
        averages = self.ancestors or self.v_structures or out or figures
        if self.count and (self.most or self.k_best or averages):
            raise ConfigError(
                "--count neither lists nor averages: leave out --list, --k-best, --ancestors, "
                "--v-structures, --out and --figures"
            )
        if self.most and self.k_best:
            raise ConfigError("--list and --k-best both list: give one of them")
        if self.samples is not None and not self.ancestors:
            raise ConfigError("--samples goes with --ancestors")
        if out is not None and out.suffix not in (".csv", ".dot"):
            raise ConfigError(f"--out must end in .csv or .dot, not {out.name!r}")
        if not 0.0 < output.threshold <= 1.0:
            raise ConfigError(
                f"--threshold must be above 0 and at most 1, not {output.threshold:g}"
            )
        for file in (out, output.scores):
            if file is not None:
                require_writable(file)
        if figures is not None and figures.exists():
            raise ConfigError(f"--figures must be a new folder, {figures} exists")


def credible_and_report(source: Scored, wanted: Wanted, output: Output) -> None:
    """Find the set, compute what is wanted of it, write files, print.

    Raises
    ------
    FedbnError : a setting or the table is not as it must be, or the set is too large.
    """
    began, worked = time.monotonic(), time.process_time()
    with stages(not (output.quiet or output.as_json)) as notify:
        notify("reading the table")
        found = _find(source, _candidates(source, notify), began, notify)
        searched = time.process_time() - worked
        content = {
            "table": str(source.table),
            "score": "as in the file" if source.is_scored else source.score,
            "bayes_factor": source.bf,
        }
        content |= _content(found, wanted, source.memory, notify)
        if not source.is_scored:
            content |= _table_content(found, source, wanted, notify)
        notify("writing")
        content["search_seconds"] = searched
        content["seconds"] = time.monotonic() - began
        files = {"out": output.out, "figures": output.figures, "scores": output.scores}
        write_files(found, content, threshold=output.threshold, **files)
    if output.as_json:
        print_json(content)
    else:
        show(content)


def _candidates(source: Scored, notify: Callable[[str], None]) -> Candidates:
    """The candidate parent sets of a table, or those that a file of scores has."""
    if source.is_scored:
        return listed_candidates(read_scores(source.table), bayes_factor=source.bf)
    return candidate_sets(
        source.read(), source.score, bayes_factor=source.bf, ess=source.ess,
        max_parents=source.max_parents, memory=source.memory, seconds=source.seconds,
        progress=lambda size, kept: notify(f"parent sets of {size} variables: {kept} so far"),
    )  # fmt: skip


def _find(
    source: Scored, candidates: Candidates, began: float, notify: Callable[[str], None]
) -> CredibleSet:
    seconds = source.seconds
    left = None if seconds is None else max(0.0, began + seconds - time.monotonic())
    if Limit.INTERRUPTION in candidates.met:
        left = AFTER_INTERRUPTION
    return credible_set(candidates, memory=source.memory, seconds=left, notify=notify)


def _table_content(
    found: CredibleSet, source: Scored, wanted: Wanted, notify: Callable[[str], None]
) -> dict[str, Any]:
    """What needs the table itself: the share that is covered, and the paper's |Π| if wanted.

    |Π| is with the ε that the paper used for its three Bayes factors.
    """
    content: dict[str, Any] = {}
    if len(found.names) <= MAX_VARIABLES:
        notify("the share of the posterior that is covered")
        score = make_score(source.score, source.read(), ess=source.ess)
        content["posterior_covered"] = covered_share(found, score)
    if wanted.paper:
        notify("the paper's parent sets")
        epsilon = PAPER_EPSILON.get(source.bf, math.log(source.bf))
        content["paper_parent_sets"] = paper_parent_sets(
            source.read(), source.score, epsilon=epsilon, ess=source.ess
        )
    return content


def _content(
    found: CredibleSet, wanted: Wanted, memory: int | None, notify: Callable[[str], None]
) -> dict[str, Any]:
    """The counts and whatever else is wanted; Ctrl-C leaves out what was not done."""
    content: dict[str, Any] = {
        "epsilon": found.epsilon,
        "opt": found.opt,
        "opt_proven": found.optimal,
        "opt_at_least": found.least if found.candidates.complete else None,
        "parent_sets": found.candidates.families.size,
        "dags": found.count,
        "classes": None,
        "complete": found.complete,
        "covered": found.covered,
        "proof": found.proof,
        "limit": found.limit,
        "set_aside": list(found.candidates.set_aside),
    }
    try:
        notify(f"{count_of(found.count, 'graph')}; classes")
        classes = _classes(found, memory, content)
        notify(f"{count_of(found.count, 'graph')}; averages")
        content |= _averages(found, classes, wanted)
        content |= _lists(found, classes, wanted)
        if wanted.paper and classes is not None:
            content["paper_classes"] = classes.coarse_count
    except KeyboardInterrupt:
        content["limit"] = content["limit"] or "interrupted: averages and lists are left out"
    return content


def _classes(
    found: CredibleSet, memory: int | None, content: dict[str, Any]
) -> MarkovClasses | None:
    """The classes, their number in `content`; None, and why, where they are too many."""
    try:
        classes = markov_classes(found, memory=memory)
    except SearchError as error:
        content["limit"] = content["limit"] or str(error)
        return None
    content["classes"] = classes.count
    return classes


def _averages(found: CredibleSet, classes: MarkovClasses | None, wanted: Wanted) -> dict[str, Any]:
    """Posteriors as lists of names and shares, the most certain first."""
    if wanted.count:
        return {}
    known = _require(classes) if wanted.per_class or wanted.v_structures else classes
    shares = averaging.class_edge_posteriors(_require(known)) if wanted.per_class else None
    edges = found.edge_posteriors if shares is None else shares
    content: dict[str, Any] = {"edges": _pairs(edges, found.names, "parent", "child")}
    if wanted.ancestors:
        rng = np.random.default_rng(wanted.seed)
        paths = averaging.ancestor_posteriors(found, samples=wanted.samples, rng=rng)
        content["ancestors"] = _pairs(paths, found.names, "ancestor", "descendant")
    if wanted.v_structures:
        triples = averaging.v_structure_posteriors(_require(known), per_class=wanted.per_class)
        content["v_structures"] = [
            {"parents": [a, b], "child": c, "posterior": p} for (a, c, b), p in triples.items()
        ]
    return content


def _require(classes: MarkovClasses | None) -> MarkovClasses:
    if classes is None:
        raise SearchError("the classes are too many for this; allow more memory, or lower --bf")
    return classes


def _pairs(shares: Any, names: tuple[str, ...], first: str, second: str) -> list[dict[str, Any]]:
    """Pairs of names with a share above 0, by name."""
    return [
        {first: names[i], second: names[j], "posterior": float(shares[i, j])}
        for i, j in np.argwhere(shares > 0.0).tolist()
    ]


def _lists(found: CredibleSet, classes: MarkovClasses | None, wanted: Wanted) -> dict[str, Any]:
    """The best structures, or one member of each of the best classes."""
    most = wanted.most or wanted.k_best
    if most is None:
        return {}
    if wanted.per_class:
        listed = [
            {"excess": item.excess, "members": item.members, **_shown_dag(item.dag)}
            for item in islice(iter(_require(classes)), most)
        ]
    else:
        listed = [{"excess": item.excess, **_shown_dag(item.dag)} for item in found.k_best(most)]
    if wanted.k_best and len(listed) < wanted.k_best:
        what = "classes" if wanted.per_class else "structures"
        raise SearchError(
            f"the {wanted.k_best} best {what} are wanted, {len(listed)} are credible: raise --bf"
        )
    return {"structures": listed}


def _shown_dag(dag: DAG) -> dict[str, Any]:
    """Its edges, and which of their directions its class determines."""
    edges = [list(edge) for edge in dag.edges]
    return {"edges": edges, "directed": list(directed_words(dag).values())}
