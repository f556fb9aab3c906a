"""What `fedbn credible` prints and writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

from fedbn.errors import ResultsError, system_errors_as
from fedbn.graphs.drawn import dot_id
from fedbn.spreadsheet import written_text
from fedbn.whole_file import write_whole
from fedbn.wording import count_of

if TYPE_CHECKING:
    from fedbn.credible.enumerate import CredibleSet


def write_files(
    found: CredibleSet,
    content: Mapping[str, Any],
    *,
    out: Path | None,
    threshold: float,
    figures: Path | None,
    scores: Path | None,
) -> None:
    """Write the files that are asked for, each whole or not at all.

    Raises
    ------
    ResultsError : a file cannot be written.
    ConfigError : the threshold is not in (0, 1].
    """
    edges = content.get("edges", [])
    if scores is not None:
        from fedbn.credible.pruning import write_scores

        write_scores(found.candidates.families, scores)
    if out is not None:
        text = _csv(edges) if out.suffix == ".csv" else _dot(found, edges, threshold)
        write_whole(out, text)
    if figures is not None:
        with system_errors_as(ResultsError, f"cannot write figures to {figures}"):
            _draw(found, edges, figures)


def _csv(edges: list[dict[str, Any]]) -> str:
    """Tidy: one edge a row, `parent,child,posterior`."""
    rows = ((e["parent"], e["child"], e["posterior"]) for e in edges)
    return written_text([("parent", "child", "posterior"), *rows])


def _dot(found: CredibleSet, edges: list[dict[str, Any]], threshold: float) -> str:
    """The averaged network: edges of at least the threshold, wider where more certain.

    It may have cycles: two directions of an edge can both reach a threshold of 0.5 or less.
    """
    from fedbn.credible.averaging import averaged_edges

    kept = averaged_edges(_matrix(found, edges), found.names, threshold)
    lines = ["digraph credible {", "  node [shape=box, style=rounded];"]
    lines += [f"  {dot_id(name)};" for name in found.names]
    lines += [
        f'  {dot_id(a)} -> {dot_id(b)} [label="{p:.2f}", penwidth={0.5 + 2.5 * p:.2f}];'
        for a, b, p in kept
    ]
    return "\n".join([*lines, "}"]) + "\n"


def _matrix(found: CredibleSet, edges: list[dict[str, Any]]) -> Any:
    place = {name: k for k, name in enumerate(found.names)}
    shares = np.zeros((len(place), len(place)))
    for edge in edges:
        shares[place[edge["parent"]], place[edge["child"]]] = edge["posterior"]
    return shares


def _draw(found: CredibleSet, edges: list[dict[str, Any]], folder: Path) -> None:
    from fedbn.results.credible_plots import edge_posterior_figure, rank_figure
    from fedbn.results.plots import save_figure

    folder.mkdir(parents=True)
    save_figure(edge_posterior_figure(_matrix(found, edges), found.names), folder / "edges")
    profile = found.profile
    save_figure(rank_figure(-found.opt, profile.value, profile.count), folder / "ranks")


def show(content: Mapping[str, Any]) -> None:
    """Posteriors and lists as CSV on standard output, the counts as text on standard error.

    Every further table has a header of its own, after an empty line.
    """
    if "edges" in content:
        rows = [(e["parent"], e["child"], e["posterior"]) for e in content["edges"]]
        _print("parent,child,posterior", rows)
    if "ancestors" in content:
        rows = [(e["ancestor"], e["descendant"], e["posterior"]) for e in content["ancestors"]]
        _print("\nancestor,descendant,posterior", rows)
    if "v_structures" in content:
        of = [(*e["parents"], e["child"], e["posterior"]) for e in content["v_structures"]]
        _print("\nparent,child,other_parent,posterior", [(a, c, b, p) for a, b, c, p in of])
    if "structures" in content:
        listed = enumerate(content["structures"], start=1)
        best = [(place, item["excess"], _arrows(item)) for place, item in listed]
        _print("\nrank,excess,edges", best)
    for line in _counts(content):
        typer.echo(line, err=True)


def _print(header: str, rows: Sequence[Sequence[Any]]) -> None:
    """A table as CSV, numbers with six digits."""
    told = ([f"{c:.6g}" if isinstance(c, float) else c for c in row] for row in rows)
    print(f"{header}\n{written_text(told)}", end="")


def _arrows(structure: Mapping[str, Any]) -> str:
    """The edges of a listed structure; "(open)" where its class does not determine a direction."""
    return "; ".join(
        f"{a} -> {b}" + (" (open)" if word == "open" else "")
        for (a, b), word in zip(structure["edges"], structure["directed"], strict=True)
    )


def _counts(content: Mapping[str, Any]) -> list[str]:
    least = "at least " if content["opt_proven"] else "provisionally "
    least = "" if content["complete"] else least
    known = content["classes"]
    classes = "an unknown number of classes" if known is None else count_of(known, "class")
    lines = [
        f"OPT {content['opt']:.6f}; {count_of(content['parent_sets'], 'parent set')}; "
        f"{least}{count_of(content['dags'], 'graph')} in {classes} within a Bayes factor of "
        f"{content['bayes_factor']:g}; "
        f"search {content['search_seconds']:.2f} s (CPU), {content['seconds']:.2f} s in all by the "
        "clock",
        f"complete: {str(content['complete']).lower()}; {content['proof']}",
    ]
    if "posterior_covered" in content:
        share = content["posterior_covered"]
        lines.append(f"share of the posterior of all graphs that these have: {share:.2f}")
    if "paper_parent_sets" in content or "paper_classes" in content:
        lines.append(
            f"by the paper's rules: {content.get('paper_parent_sets')} parent sets, "
            f"{content.get('paper_classes')} classes"
        )
    if content["limit"]:
        lines.append(f"limit: {content['limit']}")
    if content["set_aside"]:
        lines.append(f"set aside, one state only: {', '.join(content['set_aside'])}")
    return lines
