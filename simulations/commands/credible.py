"""The command `fedbn credible`: all structures within a Bayes factor of the best."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fedbn.errors import ConfigError, FedbnWarning, SearchError
from simulations.inputs import require_ess_of
from simulations.options import SchemaFile, table_settings, with_settings
from simulations.progress import stages, starting

if TYPE_CHECKING:
    from fedbn.credible.classes import MarkovClasses
    from fedbn.credible.enumerate import CredibleSet
    from fedbn.credible.pruning import Candidates
    from fedbn.data.table_settings import TableSettings
    from fedbn.graphs.dag import DAG

SCORE_FILES = (".jkl", ".scores")
MIN_FACTOR = 20.0  # below it, averages rest on few structures
AFTER_INTERRUPTION = 2.0  # seconds for what can still be said
COUNTING, LIMITS, OUTPUT = "Counting and listing", "Limits", "Output"


@with_settings(table_settings)
def credible(
    table: Annotated[
        Path,
        typer.Argument(
            help="A table (.csv, .csv.gz, .parquet), or local scores (.jkl, .scores: number of "
            "variables; per variable 'name sets'; per set 'score size parents...')."
        ),
    ],
    *,
    bf: Annotated[
        float,
        typer.Option(
            min=1.0,
            help="Bayes factor to the best structure. 3: hardly worse, too narrow for averages on "
            "few rows; 20: the usual choice; 150: all that is not ruled out decisively.",
        ),
    ] = 20.0,
    score: Annotated[
        str, typer.Option(help="bic, bdeu, aic; gaussian-bic where columns are numbers.")
    ] = "bic",
    ess: Annotated[float, typer.Option(help="Equivalent sample size of BDeu.")] = 1.0,
    schema: SchemaFile = None,
    given: Mapping[str, Any],
    count: Annotated[
        bool,
        typer.Option(
            "--count", rich_help_panel=COUNTING, help="Count only: no posteriors, no list."
        ),
    ] = False,
    most: Annotated[
        int | None,
        typer.Option(
            "--list", min=1, metavar="N", rich_help_panel=COUNTING,
            help="List the N best structures with their excess over the best (natural log).",
        ),
    ] = None,
    k_best: Annotated[
        int | None,
        typer.Option(
            "--k-best", min=1, metavar="K", rich_help_panel=COUNTING,
            help="The K best structures that are credible; an error if there are fewer.",
        ),
    ] = None,
    per_class: Annotated[
        bool,
        typer.Option(
            "--per-class", rich_help_panel=COUNTING,
            help="Every Markov equivalence class counts once: one structure of each is listed, and "
            "averages give a class the weight of one member.",
        ),
    ] = False,
    ancestors: Annotated[
        bool,
        typer.Option(
            "--ancestors", rich_help_panel=COUNTING,
            help="Also the posteriors of directed paths; by listing, or see --samples.",
        ),
    ] = False,
    v_structures: Annotated[
        bool,
        typer.Option("--v-structures", rich_help_panel=COUNTING, help="Also those of a -> c <- b."),
    ] = False,
    samples: Annotated[
        int | None,
        typer.Option(
            min=1, rich_help_panel=COUNTING, help="Average --ancestors over N draws."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, rich_help_panel=COUNTING, help="Of the draws.")] = 1,
    paper: Annotated[
        bool,
        typer.Option(
            "--paper", rich_help_panel=COUNTING,
            help="Also the numbers of Liao et al. (2019): parent sets by their bookkeeping, and "
            "their count of classes, which is finer than Markov equivalence.",
        ),
    ] = False,
    max_parents: Annotated[
        int | None,
        typer.Option(
            min=0, show_default="no limit", rich_help_panel=LIMITS, help="Cap; then incomplete."
        ),
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option(
            min=0.0, show_default="no limit", rich_help_panel=LIMITS,
            help="Wall clock. What is proven by then is printed, as after Ctrl-C.",
        ),
    ] = None,
    memory: Annotated[
        float | None,
        typer.Option(
            min=0.0, show_default="half of what is free", rich_help_panel=LIMITS, help="GiB."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            rich_help_panel=OUTPUT,
            help="Edges with posteriors (.csv) or the averaged network (.dot, see --threshold).",
        ),
    ] = None,
    threshold: Annotated[
        float,
        typer.Option(rich_help_panel=OUTPUT, help="Least posterior of an edge in the .dot file."),
    ] = 0.5,
    figures: Annotated[
        Path | None,
        typer.Option(
            rich_help_panel=OUTPUT,
            help="New folder for two figures: edge posteriors, and score against rank.",
        ),
    ] = None,
    scores: Annotated[
        Path | None,
        typer.Option(rich_help_panel=OUTPUT, help="Write the local scores: a .jkl file."),
    ] = None,
    as_json: Annotated[
        bool,
        typer.Option("--json", rich_help_panel=OUTPUT, help="Print one JSON object, nothing else."),
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", rich_help_panel=OUTPUT, help="No progress.")
    ] = False,
) -> None:  # fmt: skip
    """Count, list and average all structures within a Bayes factor of the best one.

    A structure is credible when its score is within ln(BF) of the best. The set is exact: nothing
    is left out without proof, and numbers say "at least" where a limit was met. Edges go to
    standard output as CSV with their posteriors, counts to standard error.
    """
    with starting("loading kernels", not (quiet or as_json), at_once=True):
        from fedbn.credible.coverage import MAX_VARIABLES, covered_share
        from fedbn.scores import make_score
        from simulations.commands.credible_output import show, write_files
        from simulations.commands.learn import read_table
        from simulations.experiment import experiment_from
        from simulations.terminal import print_json

    wanted = _Wanted(count, most, k_best, per_class, ancestors, v_structures, samples, seed, paper)
    wanted.require_consistent(out, figures)
    if table.suffix in SCORE_FILES:
        _require_no_table_options()
        score = "as in the file"
    else:
        require_ess_of(score, ess)
    if bf < MIN_FACTOR and not count:
        warnings.warn(
            f"a Bayes factor of {bf:g} covers little of the posterior on few rows: averages may "
            f"be too certain; {MIN_FACTOR:g} or more is usual",
            FedbnWarning,
            stacklevel=2,
        )
    prepared = experiment_from(given).tables
    began, worked = time.monotonic(), time.process_time()
    allowed = None if memory is None else int(memory * 2**30)
    with stages(not quiet and not as_json) as notify:
        notify("reading the table")
        candidates = _candidates(
            table, score, bf, ess, schema, prepared, max_parents, allowed, seconds, notify
        )
        found = _find(candidates, allowed, began, seconds, notify)
        searched = time.process_time() - worked
        content = {"table": str(table), "score": score, "bayes_factor": bf}
        content |= _content(found, wanted, allowed, notify)
        if table.suffix not in SCORE_FILES and len(found.names) <= MAX_VARIABLES:
            notify("the share of the posterior that is covered")
            dataset = read_table(table, score, schema, prepared)
            content["posterior_covered"] = covered_share(found, make_score(score, dataset, ess=ess))
        if paper and table.suffix not in SCORE_FILES:
            notify("the paper's parent sets")
            content["paper_parent_sets"] = _paper_sets(table, score, bf, ess, schema, prepared)
        notify("writing")
        content["search_seconds"] = searched
        content["seconds"] = time.monotonic() - began
        write_files(found, content, out=out, threshold=threshold, figures=figures, scores=scores)
    if as_json:
        print_json(content)
    else:
        show(content)


def _require_no_table_options() -> None:
    """Refuse options that say how a table is read or scored: a file of scores has been."""
    import click
    from click.core import ParameterSource

    context = click.get_current_context()
    for name in ("score", "ess", "schema", "missing", "max_parents", "paper"):
        source = context.get_parameter_source(name)
        if source not in (None, ParameterSource.DEFAULT, ParameterSource.DEFAULT_MAP):
            option = "--" + name.replace("_", "-")
            raise ConfigError(f"{option} is for tables: a file of local scores has its own")


@dataclass(frozen=True)
class _Wanted:
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

    def require_consistent(self, out: Path | None, figures: Path | None) -> None:
        """Refuse options that exclude each other."""
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
        if figures is not None and figures.exists():
            raise ConfigError(f"--figures must be a new folder, {figures} exists")


def _candidates(
    table: Path, score: str, bf: float, ess: float, schema: Path | None, prepared: TableSettings,
    max_parents: int | None, memory: int | None, seconds: float | None,
    notify: Callable[[str], None],
) -> Candidates:  # fmt: skip
    """The candidate parent sets of a table, or those that a file of scores has."""
    from fedbn.credible.pruning import candidate_sets, listed_candidates, read_scores
    from simulations.commands.learn import read_table

    if table.suffix in SCORE_FILES:
        return listed_candidates(read_scores(table), bayes_factor=bf)
    return candidate_sets(
        read_table(table, score, schema, prepared), score, bayes_factor=bf, ess=ess,
        max_parents=max_parents, memory=memory, seconds=seconds,
        progress=lambda size, kept: notify(f"parent sets of {size} variables: {kept} so far"),
    )  # fmt: skip


def _paper_sets(
    table: Path, score: str, bf: float, ess: float, schema: Path | None, prepared: TableSettings
) -> int:
    """The paper's |Π|, with the ε that it used for its three Bayes factors."""
    import math

    from fedbn.credible.pruning import PAPER_EPSILON, paper_parent_sets
    from simulations.commands.learn import read_table

    epsilon = PAPER_EPSILON.get(bf, math.log(bf))
    return paper_parent_sets(
        read_table(table, score, schema, prepared), score, epsilon=epsilon, ess=ess
    )


def _find(
    candidates: Candidates, memory: int | None, began: float, seconds: float | None,
    notify: Callable[[str], None],
) -> CredibleSet:  # fmt: skip
    from fedbn.credible.enumerate import credible_set
    from fedbn.limits import Limit

    left = None if seconds is None else max(0.0, began + seconds - time.monotonic())
    if Limit.INTERRUPTION in candidates.met:
        left = AFTER_INTERRUPTION
    return credible_set(candidates, memory=memory, seconds=left, notify=notify)


def _content(
    found: CredibleSet, wanted: _Wanted, memory: int | None, notify: Callable[[str], None]
) -> dict[str, Any]:
    """The counts and whatever else is wanted; Ctrl-C leaves out what was not done."""
    from fedbn.search.families.parent_sets import is_interrupt

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
        notify(f"{found.count} graphs; classes")
        classes = _classes(found, memory, content)
        notify(f"{found.count} graphs; averages")
        content |= _averages(found, classes, wanted)
        content |= _lists(found, classes, wanted)
        if wanted.paper and classes is not None:
            content["paper_classes"] = classes.coarse_count
    except (KeyboardInterrupt, SystemError) as error:
        if not is_interrupt(error):
            raise
        content["limit"] = content["limit"] or "interrupted: averages and lists are left out"
    return content


def _classes(
    found: CredibleSet, memory: int | None, content: dict[str, Any]
) -> MarkovClasses | None:
    """The classes, their number in `content`; None, and why, where they are too many."""
    from fedbn.credible.classes import markov_classes

    try:
        classes = markov_classes(found, memory=memory)
    except SearchError as error:
        content["limit"] = content["limit"] or str(error)
        return None
    content["classes"] = classes.count
    return classes


def _averages(found: CredibleSet, classes: MarkovClasses | None, wanted: _Wanted) -> dict[str, Any]:
    """Posteriors as lists of names and shares, the most certain first."""
    import numpy as np

    from fedbn.credible import averaging

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
    import numpy as np

    return [
        {first: names[i], second: names[j], "posterior": float(shares[i, j])}
        for i, j in np.argwhere(shares > 0.0).tolist()
    ]


def _lists(found: CredibleSet, classes: MarkovClasses | None, wanted: _Wanted) -> dict[str, Any]:
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
    from fedbn.graphs.directions import directed_words

    edges = [list(edge) for edge in dag.edges]
    return {"edges": edges, "directed": list(directed_words(dag).values())}
