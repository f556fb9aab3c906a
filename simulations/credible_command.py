"""The command `fedbn credible`: all structures within a Bayes factor of the best."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fedbn.errors import ConfigError, SearchError

if TYPE_CHECKING:
    from fedbn.credible.classes import MarkovClasses
    from fedbn.credible.enumerate import CredibleSet
    from fedbn.graphs.dag import DAG

Edge = tuple[str, str, float]


def credible(
    table: Annotated[Path, typer.Argument(help="A table: .csv, .csv.gz or .parquet.")],
    bf: Annotated[
        float, typer.Option(min=1.0, help="Bayes factor to the best structure; 3, 20, 150.")
    ] = 20.0,
    score: Annotated[str, typer.Option(help="bic, bdeu, aic; gaussian-bic for numbers.")] = "bic",
    ess: Annotated[float, typer.Option(help="Equivalent sample size of BDeu.")] = 1.0,
    count: Annotated[
        bool, typer.Option("--count", help="Count only: no posteriors, no list.")
    ] = False,
    most: Annotated[
        int | None, typer.Option("--list", min=1, metavar="N", help="List the N best structures.")
    ] = None,
    per_class: Annotated[
        bool, typer.Option("--per-class", help="With --list: one structure per class.")
    ] = False,
    k_best: Annotated[
        int | None,
        typer.Option("--k-best", min=1, metavar="K", help="The K best credible structures."),
    ] = None,
    max_parents: Annotated[
        int | None, typer.Option(min=0, show_default="no limit", help="Cap; then incomplete.")
    ] = None,
    schema: Annotated[
        Path | None, typer.Option("--schema", help='JSON file {"column": ["state", ...]}.')
    ] = None,
    missing: Annotated[
        list[str] | None, typer.Option(help="A cell that means missing; may be repeated.")
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(show_default="no limit", help="Wall-clock limit.")
    ] = None,
    memory: Annotated[
        float | None, typer.Option(show_default="no limit", help="Memory limit in GiB.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Write edges with posteriors: .csv, or .dot (posterior of 0.5 and up)."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object and nothing else.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress bars.")] = False,
) -> None:
    """Count, list and average all structures within a Bayes factor of the best one."""
    from fedbn.credible.candidates import candidate_sets
    from fedbn.credible.classes import markov_classes
    from fedbn.credible.enumerate import credible_set
    from fedbn.data.tables import read_dataset, read_schema
    from fedbn.learners import kind_of_score
    from simulations.terminal import print_json, progress_bars

    _check(count, most, k_best, out, per_class)
    agreed = None if schema is None else read_schema(schema)
    kind: Any = kind_of_score(score)
    dataset = read_dataset(table, kind, schema=agreed, missing=missing or ())
    began = time.monotonic()
    allowed = None if memory is None else int(memory * 2**30)
    with progress_bars(not quiet and not as_json) as tracker:
        candidates = candidate_sets(
            dataset, score, bayes_factor=bf, ess=ess, max_parents=max_parents, memory=allowed,
            seconds=seconds, progress=tracker("parent sets"),
        )  # fmt: skip
        done = tracker("components")
        left = None if seconds is None else max(0.0, began + seconds - time.monotonic())
        found = credible_set(
            candidates, memory=allowed, seconds=left, progress=lambda _, k, n: done(k, n)
        )
    classes, uncounted = None, ""
    try:
        classes = markov_classes(found)
    except SearchError as error:
        if per_class:
            raise
        uncounted = str(error)
    content: dict[str, Any] = {
        "table": str(table),
        "score": score,
        "bayes_factor": bf,
        "epsilon": found.epsilon,
        "opt": found.opt,
        "parent_sets": candidates.families.size,
        "dags": found.count,
        "classes": None if classes is None else classes.count,
        "complete": found.complete,
        "covered": found.covered,
        "limit": _limit(found) or uncounted,
        "set_aside": list(candidates.set_aside),
    }
    edges = None if count else _edges(found)
    if edges is not None:
        content["edges"] = [{"parent": a, "child": b, "posterior": p} for a, b, p in edges]
    listed = _listed(found, classes, most or k_best, per_class)
    if listed is not None:
        content["structures"] = listed
    content["seconds"] = time.monotonic() - began
    if out is not None and edges is not None:
        _write(edges, found.names, out)
    if as_json:
        print_json(content)
    else:
        _show(content, edges)


def _check(
    count: bool, most: int | None, k_best: int | None, out: Path | None, per_class: bool
) -> None:
    """Refuse options that exclude each other."""
    if count and (most or k_best or out):
        raise ConfigError("--count neither lists nor writes: leave out --list, --k-best and --out")
    if most and k_best:
        raise ConfigError("--list and --k-best both list: give one of them")
    if per_class and not (most or k_best):
        raise ConfigError("--per-class goes with --list or --k-best")
    if out is not None and out.suffix not in (".csv", ".dot"):
        raise ConfigError(f"--out must end in .csv or .dot, not {out.name!r}")


def _limit(found: CredibleSet) -> str:
    """What made the set incomplete, or nothing."""
    if found.limit:
        return found.limit
    if not found.candidates.complete:
        return f"parent sets of more than {found.candidates.largest} variables were not considered"
    return ""


def _edges(found: CredibleSet) -> list[Edge]:
    """Edges that some credible DAG has, with posteriors, by names."""
    posteriors = found.edge_posteriors
    names = found.names
    return [
        (names[i], names[j], float(posteriors[i, j]))
        for i in range(len(names))
        for j in range(len(names))
        if posteriors[i, j] > 0.0
    ]


def _listed(
    found: CredibleSet, classes: MarkovClasses | None, most: int | None, per_class: bool
) -> list[dict[str, Any]] | None:
    """The best structures, or one member of each of the best classes."""
    if most is None:
        return None
    if per_class and classes is not None:
        return [
            {"excess": item.excess, "members": item.members, "edges": _pairs(item.dag)}
            for item in islice(iter(classes), most)
        ]
    return [{"excess": item.excess, "edges": _pairs(item.dag)} for item in found.k_best(most)]


def _pairs(dag: DAG) -> list[list[str]]:
    return [list(edge) for edge in dag.edges]


def _write(edges: Sequence[Edge], names: Sequence[str], path: Path) -> None:
    """Edge posteriors as CSV, or the averaged network as DOT."""
    import csv
    import json

    if path.suffix == ".csv":
        with path.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerow(["parent", "child", "posterior"])
            writer.writerows((a, b, repr(p)) for a, b, p in edges)
        return
    quoted = {name: json.dumps(name, ensure_ascii=False) for name in names}
    lines = ["digraph credible {", *(f"  {quoted[name]};" for name in names)]
    lines += [f'  {quoted[a]} -> {quoted[b]} [label="{p:.2f}"];' for a, b, p in edges if p >= 0.5]
    path.write_text("\n".join([*lines, "}"]) + "\n", encoding="utf-8")


def _show(content: dict[str, Any], edges: Sequence[Edge] | None) -> None:
    """Edges as CSV on standard output, the counts as text on standard error."""
    if edges is not None:
        print("parent,child,posterior")
        for parent, child, share in edges:
            print(f"{parent},{child},{share:.6g}")
    for place, item in enumerate(content.get("structures", []), start=1):
        arrows = "; ".join(f"{a} -> {b}" for a, b in item["edges"])
        print(f"{place},{item['excess']:.6g},{arrows}")
    least = "" if content["complete"] else "at least "
    typer.echo(
        f"OPT {content['opt']:.6f}; {content['parent_sets']} parent sets; {least}"
        f"{content['dags']} graphs in {_number(content['classes'])} classes "
        f"within a Bayes factor of {content['bayes_factor']:g}; {content['seconds']:.2f} s",
        err=True,
    )
    if content["limit"]:
        typer.echo(f"limit: {content['limit']}", err=True)
    if content["set_aside"]:
        typer.echo(f"set aside, one state only: {', '.join(content['set_aside'])}", err=True)


def _number(count: int | None) -> str:
    """A count, or that it was not made."""
    return "an unknown number of" if count is None else str(count)
