"""The report's first lines, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fedbn.graphs.dag import DAG
from fedbn.graphs.directions import directed_words
from fedbn.results.placement import printable_name
from fedbn.results.rows import ConsensusRow
from fedbn.wording import count_of

NOT_PUBLIC = "Not shown to the public."
FEW_SITES = 6
"""The first line names sites up to this number; the table of sites has all."""


@dataclass(frozen=True)
class LeadLine:
    """A question, its answer, and the answer without what tells of single sites."""

    question: str
    text: str
    public: str

    @staticmethod
    def alike(question: str, text: str) -> LeadLine:
        """An answer that anybody may read."""
        return LeadLine(question, text, text)


@dataclass(frozen=True)
class GroupWords:
    """What the first lines of the page say of groups.

    Attributes
    ----------
    found : what the groups are, with a network each; empty for one group.
    differ : how many were found or asked for, which is no finding, and where they differ.
    """

    found: str = ""
    differ: str = ""


def headline(run: Mapping[str, Any], clients: int) -> str:
    """What was fused, in a few words."""
    settings = run.get("settings") or {}
    many = count_of(clients, "site") if clients else ""
    learner, score = settings.get("learner"), settings.get("score")
    how = f"{learner} with {score}" if learner and score else str(settings.get("method") or "")
    source = settings.get("network") or settings.get("table")
    what = Path(source).name if isinstance(source, str) and source != "none" else ""
    told = ", ".join(part for part in (many, how) if part) or "structures"
    return f"{what}: {told}" if what else told


def answers(
    facts: Mapping[str, Any],
    dag: DAG,
    run: Mapping[str, Any],
    edges: Sequence[ConsensusRow],
    rows: int | None,
    distances: Mapping[str, float] | None,
    groups: GroupWords = GroupWords(),
    unknown: int = 0,
    measured: tuple[int, int] | None = None,
) -> list[LeadLine]:
    """What somebody who decides asks first, and the answers.

    Parameters
    ----------
    facts : of the summary. edges : of the consensus. rows : of all sites; None: not known.
    distances : label of a site -> SMHD of its structures to the consensus; None: not known.
    groups : what to say of the groups of the sites; empty: nobody looked.
    unknown : number of pairs of variables that no site has both of.
    measured : smallest and largest number of variables of a site; None: all have all.
    """
    near = _certificate(facts)
    found = [
        _participants(facts, rows, run, tuple(distances or ()), _measured_words(measured, dag.n)),
        _finding(facts, dag, groups.found),
        LeadLine("How sure is it?", _support_words(edges) + near, near),
        LeadLine.alike("Are the arrows causes?", _arrow_words(facts, dag)),
        LeadLine("Where do sites differ?", _difference(distances, groups.differ), NOT_PUBLIC),
    ]
    if unknown:
        joined = "is" if unknown == 1 else "are"
        words = (
            f"Whether {count_of(unknown, 'pair')} of variables {joined} joined: no site has both."
        )
        found.append(LeadLine.alike("What is not known?", words))
    if facts.get("smhd_to_gold") is not None:
        found.append(LeadLine.alike("How near is the truth?", _against_gold(facts)))
    return found


def _measured_words(measured: tuple[int, int] | None, n: int) -> str:
    if measured is None:
        return ""
    least, greatest = measured
    many = str(least) if least == greatest else f"{least} to {greatest}"
    return f" Each site has {many} of the {count_of(n, 'variable')}."


def _finding(facts: Mapping[str, Any], dag: DAG, groups: str) -> LeadLine:
    """Each of several groups has its network; the page draws that of all sites."""
    public = _network_words(facts, dag)
    if not groups:
        return LeadLine.alike("What was found?", public)
    mixed = f"The network of all sites, drawn below, mixes them: {public[0].lower()}{public[1:]}"
    return LeadLine("What was found?", groups + mixed, public)


def _participants(
    facts: Mapping[str, Any],
    rows: int | None,
    run: Mapping[str, Any],
    labels: Sequence[str],
    measured: str,
) -> LeadLine:
    """Number of sites and rows; the sites by name where they are few."""
    clients, refused = int(facts.get("clients", 0)), int(facts.get("refused") or 0)
    who = count_of(clients, "site") if clients else "Structures alone; no site is named"
    many = f" with {rows:,} {'row' if rows == 1 else 'rows'} in all" if clients and rows else ""
    ends = "."
    if refused:
        ends = f". The replies of {count_of(refused, 'more site')} were refused: see Warnings."
    privacy = run.get("privacy")
    if privacy:
        words_of = privacy.get("words") or "differentially private"
        ends += f" The structures of the sites are {words_of}."
    named = ""
    if 0 < len(labels) <= FEW_SITES:
        named = f" ({', '.join(printable_name(label) for label in labels)})"
    return LeadLine("Who took part?", f"{who}{named}{many}{ends}{measured}", f"{who}{ends}")


def _network_words(facts: Mapping[str, Any], dag: DAG) -> str:
    """Variables and edges; sites agree only where all of them sent this very class."""
    clients, agreeing = int(facts.get("clients", 0)), facts.get("agreeing")
    text = f"A network of {count_of(dag.n, 'variable')} and {count_of(dag.n_edges, 'edge')}"
    if agreeing == clients > 1:
        text += f", on which all {clients} sites agree"
    return f"{text}."


def _support_words(edges: Sequence[ConsensusRow]) -> str:
    """Numbers of edges that all sites have, and that a minority has; empty where not known."""
    known = [row for row in edges if row.sites is not None and row.of is not None]
    if not known:
        return ""
    of = {row.of or 0 for row in known}
    everywhere = sum(row.sites == row.of for row in known)
    few = sum(2 * (row.sites or 0) < (row.of or 0) for row in known)
    all_of = f"all {of.pop()} sites" if len(of) == 1 else "all sites that have both ends"
    if everywhere == len(edges):
        subject = "Its only edge is" if everywhere == 1 else f"All {everywhere} edges are"
        return f"{subject} in the structures of {all_of}. "
    return (
        f"{everywhere} of its {count_of(len(edges), 'edge')} "
        f"{'is' if everywhere == 1 else 'are'} in the structures of {all_of}, "
        f"{few or 'none'} in those of fewer than half. "
    )


def _certificate(facts: Mapping[str, Any]) -> str:
    distance, bound = float(facts["mean_smhd"]), float(facts["lower_bound"])
    if distance == bound:
        return (
            f"On average the network and a site's structure differ in {_pairs(distance)} (SMHD), "
            "and it is proven that no network is nearer."
        )
    return (
        f"On average the network and a site's structure differ in {_pairs(distance)} (SMHD); "
        f"for every network this average is at least {number(bound)}."
    )


def _pairs(distance: float) -> str:
    """A mean number of pairs of variables, joined in one moral graph and not in the other."""
    return f"{number(distance)} {'pair' if distance == 1 else 'pairs'} of variables"


def _arrow_words(facts: Mapping[str, Any], dag: DAG) -> str:
    opened = facts.get("open_directions")
    if opened is None:
        opened = list(directed_words(dag).values()).count("open")
    if not dag.n_edges:
        return "There are no arrows."
    if opened:
        start = f"The direction of {opened} of {count_of(dag.n_edges, 'edge')} is not determined."
    else:
        start = "All directions are determined."
    return (
        f"Not by themselves. {start} A determined direction is the same in all networks that fit "
        "the data equally; it shows a cause only if no common cause of variables is missing."
    )


def _difference(distances: Mapping[str, float] | None, groups: str) -> str:
    if distances is None:
        return "Not known: no single site's structure was seen."
    found = f"{groups} "
    if len(distances) > 1:
        near, far = (pick(distances, key=lambda label: distances[label]) for pick in (min, max))
        if distances[near] == distances[far]:
            found += f"All sites are equally far from the network (SMHD {number(distances[near])})."
        else:
            found += (
                f"Nearest to the network: {printable_name(near)} (SMHD {number(distances[near])}); "
                f"farthest: {printable_name(far)} (SMHD {number(distances[far])})."
            )
    return found.strip() or "There is only one site."


def _against_gold(facts: Mapping[str, Any]) -> str:
    text = f"The SMHD to the gold network, taken as true, is {number(facts['smhd_to_gold'])}"
    if facts.get("inputs_to_gold") is not None:
        text += f"; that of a site alone is {number(facts['inputs_to_gold'])} on average"
    if facts.get("pooled_to_gold") is not None:
        text += f"; that of GES on all rows pooled is {number(facts['pooled_to_gold'])}"
    return f"{text}."


def number(value: Any, decimals: int = 2) -> str:
    """A number for a reader, with at most `decimals` decimals.

    >>> number(3.0), number(0.333), number(0.12345, 4), number(None)
    ('3', '0.33', '0.1235', '-')
    """
    if value is None:
        return "-"
    return f"{float(value):,.{decimals}f}".rstrip("0").rstrip(".")
