"""What a run leaves behind: one folder of tidy tables, structures, figures and `run.json`.

The folder is written beside its final place and renamed, so that it is either whole or not there,
and an older result is replaced in one step. A folder that fedbn did not write is never replaced.

    report.html    the report, one file to open or to mail; report.json is what it shows
    README.txt     what every file and every column is
    consensus.csv .json .graphml .dot [.bif]   the consensus (BIF only where its tables are known);
        the CSV says of every edge whether its direction is determined, and who joins the pair
    consensus.cpdag.csv .json .graphml .dot    its equivalence class: directions determined
    network.json   the consensus with its parameters, exact, where they are known
    path.csv       one row per state of the path and reading
    clients.csv    one row per client; not under secure sums, where nobody knows their structures
    claims.csv     independences claimed because knowledge parts a pair, against some input
    edges.csv      one row per pair of variables that somebody joins: who, when it goes; likewise
    variables.csv, undecided.csv, collect.csv   where sites have different variables: who has which,
                   what nobody knows, and which column at which site would decide most
    strengths.csv  one row per pair that a site joins: how sure it is; likewise
    groups.csv, differences.csv, families.csv, groups/   where groups were asked for
                   (`fedbn.results.groups`)
    run.json       settings, seed, versions, timings, the figures of the summary
    figures/       PNG and SVG
    schema.json, state.json   of a federated run: the agreed columns, and what an update needs

Bytes depend on the result alone; only `run.json` and the column `seconds` hold times. No file has a
path in it: the folder can be sent.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import secrets
import shutil
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedbn.bounded_file import json_value, read_bounded
from fedbn.consensus.claimed_independences import Claim
from fedbn.errors import FedbnWarning, ResultsError, system_errors_as
from fedbn.graphs.dag import DAG
from fedbn.graphs.directions import CLASS_SUFFIXES, write_class
from fedbn.graphs.knowledge import Knowledge
from fedbn.graphs.known_class import class_of
from fedbn.graphs.writing import write_structure
from fedbn.groups.differences import Difference
from fedbn.groups.families import FamilyDifference
from fedbn.networks.json_file import write_json_network
from fedbn.networks.network import BayesianNetwork
from fedbn.results.dictionary import write_readme
from fedbn.results.groups import SiteRow, groups_facts, site_rows
from fedbn.results.groups import write_structures as write_group_structures
from fedbn.results.outcome import Outcome
from fedbn.results.page.content import report_content, voted_content
from fedbn.results.page.files import write_page
from fedbn.results.placement import LARGEST
from fedbn.results.record import fractions_told, sendable
from fedbn.results.rows import (
    ClientRow,
    ConsensusRow,
    EdgeRow,
    PathRow,
    bare_rows,
    client_rows,
    consensus_rows,
    edge_rows,
    path_rows,
)
from fedbn.results.strengths import StrengthRow, strength_rows
from fedbn.results.summary import Summary, summarise
from fedbn.results.variables import (
    CollectRow,
    JudgedEdgeRow,
    UndecidedRow,
    collect_rows,
    judged_edge_rows,
    undecided_rows,
    variables_facts,
    variables_text,
)
from fedbn.results.written_rows import rows_text
from fedbn.whole_file import write_whole

if TYPE_CHECKING:
    from fedbn.networks.conditional_gaussian import Network

PROGRAM = "fedbn"


def check_results_folder(folder: str | Path) -> Path:
    """Return the absolute folder if results can be written there; creates its parents.

    Raises
    ------
    ResultsError
        It exists and is neither empty nor a result of fedbn, or its parent cannot be written.
    """
    target = Path(folder).expanduser().resolve()
    with system_errors_as(ResultsError, f"cannot write results to {target}"):
        if target.is_dir():
            if any(target.iterdir()) and not _is_result(target):
                raise ResultsError(
                    f"{target} exists and is not a result of fedbn: it is not replaced; "
                    "choose another folder with --out, or remove it"
                )
        elif target.exists():
            raise ResultsError(f"results need a folder, but {target} is a file")
        target.parent.mkdir(parents=True, exist_ok=True)
        probe = _sibling(target, "probe")
        probe.mkdir()
        probe.rmdir()
    return target


@contextmanager
def results_folder(folder: str | Path) -> Iterator[Path]:
    """A new, empty folder that takes the place of `folder` when the block ends well.

    Raises
    ------
    ResultsError : as `check_results_folder`, or when a file cannot be written.
    """
    target = check_results_folder(folder)
    fresh, old = _sibling(target, "new"), _sibling(target, "old")
    try:
        fresh.mkdir()
        yield fresh
        if target.exists():
            target.rename(old)
        fresh.rename(target)
    except ResultsError:
        raise
    except OSError as error:
        if old.exists() and not target.exists():
            old.rename(target)
        reason = error.strerror or error
        raise ResultsError(f"cannot write results to {target}: {reason}") from None
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)


def _sibling(target: Path, role: str) -> Path:
    """A name that no other process takes, on this machine or on another that shares the folder."""
    return target.parent / f".{target.name}.{role}-{os.getpid()}-{secrets.token_hex(8)}"


def _is_result(folder: Path) -> bool:
    try:
        content = json_value(read_bounded(folder / "run.json").decode("utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(content, dict) and content.get("program") == PROGRAM


def versions() -> dict[str, str]:
    """Versions of Python, of fedbn, and of the packages that results depend on."""
    from importlib.metadata import PackageNotFoundError, version

    found = {"python": platform.python_version()}
    for package in ("fedbn", "flwr", "numpy", "scipy", "pandas", "pgmpy", "networkx"):
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


def write_results(
    outcome: Outcome,
    folder: str | Path,
    *,
    run: Mapping[str, Any],
    network: Network | None = None,
    figures: bool = True,
    more: Mapping[str, str] | None = None,
) -> Path:
    """Write the whole results folder and return its absolute path.

    Parameters
    ----------
    folder : replaced atomically; see `check_results_folder`.
    run : what `run.json` says besides the summary: settings, seed, versions, timings; see
        `record.sendable`.
    network : the consensus with its parameters, for network.json and, with tables, BIF.
    figures : whether to draw.
    more : name -> text of further files.

    Raises
    ------
    ResultsError : the folder may not be replaced or cannot be written.
    """
    record = sendable(run)
    with results_folder(folder) as place:
        dag = outcome.consensus.dag
        known = outcome.path.knowledge
        _write_structures(dag, consensus_rows(outcome), place, network, known)
        if known is not None:
            write_table(place / "claims.csv", Claim, outcome.claims)
        rows = path_rows(outcome)
        summary = summarise(outcome)
        clients = client_rows(outcome)
        write_table(place / "path.csv", PathRow, rows)
        if outcome.votes is None:
            write_table(place / "clients.csv", ClientRow, clients)
            record = record | _write_edges(outcome, place)
            learned = record.get("settings") or {}
            if record.get("added"):
                # Nobody knows how the structures that an update adds were found.
                learned = {"learner": learned.get("learner")}
            strengths = strength_rows(outcome, learned)
            write_table(place / "strengths.csv", StrengthRow, strengths)
        record = record | _write_groups(outcome, place)
        told = {"sites": summary.clients, "rows": _all_rows(clients), **record}
        write_run(place / "run.json", told, summary, outcome.refused, outcome.lone_states)
        _write_texts(place, more)
        if figures and dag.n <= LARGEST:
            from fedbn.results.plots import write_figures

            write_figures(outcome, rows, summary, place / "figures")
        _write_page(place, dag, lambda: report_content(outcome, record, network, _hashes(place)))
        write_readme(place)
    return Path(folder).expanduser().resolve()


def write_voted(
    dag: DAG,
    folder: str | Path,
    *,
    run: Mapping[str, Any],
    summary: Mapping[str, Any],
    refused: Sequence[tuple[str, str]],
    network: Network | None = None,
    more: Mapping[str, str] | None = None,
    missing: Sequence[str] = (),
    knowledge: Knowledge | None = None,
) -> Path:
    """`write_results` of a consensus without a path: structures, `run.json` and `more`.

    summary : the figures for `run.json`.
    missing : what the report must say is not in it.
    knowledge : what the consensus keeps. Other parameters and exceptions as there.
    """
    record = sendable(run)
    with results_folder(folder) as place:
        _write_structures(dag, bare_rows(dag, knowledge), place, network, knowledge)
        write_run(place / "run.json", record, summary, refused)
        _write_texts(place, more)
        _write_page(
            place,
            dag,
            lambda: voted_content(
                dag, record, summary, refused, network, _hashes(place), missing, knowledge
            ),
        )
        write_readme(place)
    return Path(folder).expanduser().resolve()


def _write_edges(outcome: Outcome, place: Path) -> dict[str, Any]:
    """edges.csv; where sites have different variables also who measures what, and what `run.json`
    says of that."""
    if outcome.is_whole:
        write_table(place / "edges.csv", EdgeRow, edge_rows(outcome))
        return {}
    write_table(place / "edges.csv", JudgedEdgeRow, judged_edge_rows(outcome))
    (place / "variables.csv").write_bytes(variables_text(outcome).encode("utf-8"))
    write_table(place / "undecided.csv", UndecidedRow, undecided_rows(outcome))
    write_table(place / "collect.csv", CollectRow, collect_rows(outcome))
    return {"variables": variables_facts(outcome)}


def _write_groups(outcome: Outcome, place: Path) -> dict[str, Any]:
    """The files of the groups, where there are some, and what `run.json` says of them."""
    grouping = outcome.grouping
    if grouping is None:
        return {}
    write_table(place / "groups.csv", SiteRow, site_rows(grouping))
    write_table(place / "differences.csv", Difference, grouping.differences)
    if grouping.families:
        write_table(place / "families.csv", FamilyDifference, grouping.families)
    write_group_structures(grouping, place)
    return {"groups": groups_facts(grouping)}


def _all_rows(clients: Sequence[ClientRow]) -> int | None:
    """Rows of all sites together; None unless every site tells its own."""
    rows = [client.rows for client in clients if client.rows is not None]
    return sum(rows) if rows and len(rows) == len(clients) else None


def _write_texts(place: Path, more: Mapping[str, str] | None) -> None:
    for name, text in (more or {}).items():
        (place / name).write_bytes(text.encode("utf-8"))


def _hashes(place: Path) -> dict[str, str]:
    """Name -> SHA-256 of the files by which two runs are compared."""
    files = [place / name for name in ("network.json", "schema.json") if (place / name).exists()]
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def _write_page(place: Path, dag: DAG, content: Callable[[], Mapping[str, Any]]) -> None:
    if dag.n > LARGEST:
        said = f"above {LARGEST:,} variables results have no report, no figures and no treewidth"
        warnings.warn(said, FedbnWarning, stacklevel=3)
        return
    try:
        write_page(content(), place)
    except Exception as error:
        # As with figures: whatever a drawing stumbles over, the tables are worth more than it.
        warnings.warn(f"the report could not be made: {error!r}", FedbnWarning, stacklevel=3)


def write_network(network: Network, place: Path) -> None:
    """network.json, exact, and consensus.bif where there are tables, into a folder."""
    from fedbn.networks.bif import write_bif

    write_json_network(network, place / "network.json")
    if isinstance(network, BayesianNetwork):
        write_bif(network, place / "consensus.bif")


def tell_sources(folder: Path, sources: Mapping[str, Any] | None) -> None:
    """Let run.json, if there is one, say whose rows the parameters are of: no more which sites held
    back what, for now nobody does; and what is not known all the same.

    Raises
    ------
    ResultsError : run.json is not as fedbn wrote it.
    OSError : it cannot be written.
    """
    file = folder / "run.json"
    if not file.is_file():
        return
    try:
        content = json_value(read_bounded(file).decode("utf-8"))
        if content.get("parameters") or sources:
            write_whole(file, _run_text({**content, "parameters": sources}))
    except (ValueError, AttributeError) as error:
        raise ResultsError(f"{file} is not as fedbn wrote it: {error}") from None


def _write_structures(
    dag: DAG,
    rows: Sequence[ConsensusRow],
    place: Path,
    network: Network | None,
    knowledge: Knowledge | None,
) -> None:
    write_table(place / "consensus.csv", ConsensusRow, rows)
    support = {(r.parent, r.child): r.support for r in rows if r.support is not None}
    directed = {(r.parent, r.child): r.directed for r in rows}
    of_class = class_of(dag, knowledge)
    for suffix in CLASS_SUFFIXES:
        try:
            if suffix != ".csv":
                file = place / f"consensus{suffix}"
                write_structure(dag, file, support=support, directed=directed)
            write_class(of_class, place / f"consensus.cpdag{suffix}")
        except ResultsError as error:
            warnings.warn(f"consensus{suffix} is left out: {error}", FedbnWarning, stacklevel=3)
    if network is not None:
        write_network(network, place)


def write_table(path: Path, row_type: type, rows: Sequence[Any]) -> None:
    """Rows, frozen dataclasses of one type, as a CSV file with its fields for columns."""
    path.write_bytes(rows_text(row_type, rows).encode("utf-8"))


def write_run(
    path: Path,
    run: Mapping[str, Any],
    summary: Summary | Mapping[str, Any],
    refused: Sequence[tuple[str, str]],
    lone_states: Sequence[tuple[str, str, str]] = (),
) -> None:
    """run.json: what makes a folder one of fedbn's results."""
    content = {
        "program": PROGRAM,
        **run,
        "summary": fractions_told(summary),
        "refused": [{"client": client, "reason": reason} for client, reason in refused],
        "lone_states": [
            {"client": client, "column": column, "state": state}
            for client, column, state in lone_states
        ],
    }
    path.write_bytes(_run_text(content).encode("utf-8"))


def _run_text(content: Mapping[str, Any]) -> str:
    return json.dumps(content, indent=1, ensure_ascii=False, default=str) + "\n"
