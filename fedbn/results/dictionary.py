"""README.txt of a results folder: every file that is there, and every column of its tables."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from textwrap import wrap

from fedbn.graphs.directions import ARROWS
from fedbn.whole_file import write_whole

FILE = "README.txt"

FILES = {
    "report.html": "the report: open it in a browser; it loads nothing from other machines",
    "report.json": "the data of the report; `fedbn report FOLDER --public` makes one without sites",
    "report-public.html": "the report without sites, rare edges and parameters",
    "README.txt": "this text",
    "consensus.csv": "the edges of the consensus, one row per edge",
    "consensus.json": "nodes and edges of the consensus",
    "consensus.graphml": "the consensus for programs that draw graphs",
    "consensus.dot": "the consensus for Graphviz; an edge with an open direction is dashed",
    "consensus.bif": "the consensus with its tables, for other programs; numbers are rounded",
    "consensus.cpdag.csv": "its class, with the directions that knowledge gives, one row per edge",
    "consensus.cpdag.json": "its equivalence class",
    "consensus.cpdag.graphml": "its equivalence class",
    "consensus.cpdag.dot": "its equivalence class; an open edge has no arrowhead",
    "network.json": "the consensus with its parameters, exact",
    "average.json": "all structures of the sites, weights and parameters, for query --average",
    "path.csv": "one row per state of the path",
    "claims.csv": "independences that knowledge enforces against the structure of some site",
    "clients.csv": "one row per site",
    "edges.csv": "one row per pair of variables that a site joins, or that no site has both of",
    "variables.csv": "who measures what: one row per variable, 1 under each site that has it",
    "undecided.csv": "open questions: one row per pair and site that would have to measure more",
    "collect.csv": "what one more column at one site would decide, the most useful first",
    "strengths.csv": "one row per pair of variables that a site joins: the evidence for it",
    "groups.csv": "one row per site, with its group",
    "differences.csv": "one row per pair of variables in which two groups differ",
    "families.csv": "one row per variable and pair of groups: what differs, judged by counts",
    "groups/core.csv": "the edges that the consensuses of all groups share",
    "groups/core.json": "the same, with all nodes",
    "groups/group-*.csv": "the edges of this group's consensus",
    "groups/group-*.json": "this group's consensus",
    "groups/network-*.json": "the same with its parameters, exact: fedbn query FOLDER --group 1",
    "cohorts/*/README.txt": "the files of this group's results; each group is a cohort of its own",
    "run.json": "settings, seed, versions, seconds, hashes of input files, the figures of the run",
    "schema.json": "the agreed columns and their states",
    "state.json": "what `fedbn update` needs",
    "sums.json": "the cost of the secure sums",
    "learned.txt": "what the server could see, in sentences",
    "figures/smhd.*": "mean SMHD to the sites over θ",
    "figures/complexity.*": "edges and treewidth over θ",
    "figures/consensus.*": "the consensus drawn as in the report",
}
"""What each file is; a `*` stands for the part in which names of one kind differ."""

DIRECTED = {
    "parent": "where the arrow starts",
    "child": "where it ends",
    "directed": "compelled: the same direction in every network of the class; by knowledge: in "
    "every one that keeps the knowledge; open: reversed in some",
}
SUPPORT = (
    "weighted share of the structures that join the two in either direction, among those with both "
    "variables"
)

COLUMNS = {
    "consensus.csv": {
        **DIRECTED,
        "support": SUPPORT,
        "sites": "number of sites with a structure that joins them; empty under secure sums",
        "of": "number of sites that have both variables",
        "theta": "θ at which the path deletes the pair; empty if it never does",
    },
    "consensus.cpdag.csv": {
        "from": "one variable",
        "to": "the other",
        "directed": "compelled: from -> to in every network of the class; by knowledge: in every "
        "one that keeps the knowledge; open: in some",
    },
    "groups/core.csv": {**DIRECTED, "support": SUPPORT},
    "groups/group-*.csv": {**DIRECTED, "support": f"{SUPPORT}, of this group's sites"},
    "path.csv": {
        "reading": "how the state became a network: search, refusion, vote, others",
        "theta": "threshold θ as an exact fraction; empty for the unrestricted fusion G+",
        "theta_decimal": "θ as a decimal",
        "psi": "criticality Ψ of the last deletion before the state, as a fraction",
        "psi_decimal": "Ψ as a decimal",
        "edges": "number of edges",
        "treewidth": "an upper bound of the treewidth; empty above 2,000 variables",
        "mean_smhd": "weighted mean structural moral Hamming distance to the sites' structures",
        "smhd_to_gold": "SMHD to the gold network, where it is known",
        "shd_to_gold": "structural Hamming distance of the classes to that of the gold network",
        "selected": "whether this is the consensus",
    },
    "claims.csv": {
        "variable": "one variable of a pair that the knowledge keeps apart",
        "other": "the other, which comes later in the consensus",
        "given": "its parents, given which the two are independent in the consensus",
        "against": "weighted share of the sites' structures in which they are dependent",
    },
    "edges.csv": {
        "parent": "one variable",
        "child": "the other",
        "support": SUPPORT,
        "same": "number of sites with an edge in this direction",
        "reversed": "number of sites with an edge in the other direction",
        "theta": "θ at which the path deletes the pair, as a fraction; empty if it never does",
        "theta_decimal": "the same as a decimal",
        "psi": "Ψ of that deletion, as a fraction",
        "psi_decimal": "the same as a decimal",
        "in_fusion": "whether G+ joins the two",
        "in_consensus": "whether the consensus joins them in this direction",
        "directed": "compelled, by knowledge or open, for edges of the consensus",
        "status": "against the gold network: true, reversed, extra, missing; never together: no "
        "site has both variables, so whether they are joined is not known",
        "supporters": "the sites that join the two, split by semicolons (\\; and \\\\ in a name)",
        "seeing": "number of sites that have both variables",
        "judges": "number of sites that judged the deletion of the pair: those with all variables "
        "that may separate the two or, where no site has all, with the largest number of them",
        "lacking": "maximum number of these variables that a judge lacks",
    },
    "variables.csv": {
        "variable": "the variable",
        "sites": "number of sites that have it; then one column per site, 1 if it does",
    },
    "undecided.csv": {
        "variable": "one variable",
        "other": "the other",
        "why": "never together: no site has both; no judge of all: the consensus joins them, and "
        "no site (or fewer than min-judges) has all variables that may separate them",
        "given": "these variables, separated by semicolons",
        "site": "a site that lacks the smallest number of all these variables",
        "lacks": "the variables that it would have to measure, separated by semicolons",
    },
    "collect.csv": {
        "site": "the site's name in this run",
        "column": "a variable that it lacks",
        "pairs": "number of pairs that no site has both variables of, and this site would then",
        "edges": "number of edges of the consensus that would then have a judge with all variables "
        "that may separate their ends",
    },
    "strengths.csv": {
        "parent": "one variable",
        "child": "the other",
        "in_consensus": "whether the consensus joins them, in this direction",
        "directed": "as in consensus.csv",
        "sites": "number of sites with a structure that joins them",
        "of": "number of sites that have both variables",
        "low": "lower end of the exact 95 % interval (Clopper-Pearson) of the share of sites",
        "high": "upper end of that interval",
        "probability": "estimated probability that the network that the rows come from joins them, "
        "if sites are alike; too high where variables nearly determine each other. Empty unless 3 "
        "to 20 sites with all variables sent one structure each in a single round, found by ges "
        "with bdeu and ess 1, without knowledge, imputed cells or more than one group",
        "bootstrap": "mean share of a site's resampled structures, where sites sent them",
        "credible": "mean share of a site's credible structures, where sites sent them",
        "posterior": "share of the sites' structures, weighted by counts of all rows "
        "(`fedbn parameters --average`)",
    },
    "clients.csv": {
        "client": "the site's name in this run",
        "status": "complete, or the gravest limit that its search met",
        "dags": "number of structures that it sent",
        "rows": "number of rows of its table, if the site shares it",
        "rows_dropped": "number of rows left out for missing cells, if the site shares it",
        "edges": "mean number of edges of its structures",
        "seconds": "CPU seconds of its search, if the site shares them",
        "smhd_to_consensus": "SMHD to the consensus",
        "smhd_to_gold": "SMHD to the gold network, where it is known",
        "shd_to_gold": "SHD to the gold network, where it is known",
        "held_out": "score on rows that no site has, in a simulation",
    },
    "groups.csv": {
        "site": "the site's name in this run",
        "group": "number of its group, from 1",
        "alone": "whether it stands alone: a group of one, or far from all others of its group",
        "smhd_to_group": "mean SMHD of its structures to the consensus of its group",
        "nearest_other": "number of the nearest other group",
        "smhd_to_other": "mean SMHD of its structures to the consensus of that group",
        "group_name": "name of its group, where groups were given",
    },
    "differences.csv": {
        "group": "number of a group",
        "other": "number of another one",
        "kind": "edge: one consensus joins the pair; direction: both do, but their classes differ",
        "variable": "one variable",
        "second": "the other",
        "mark": "the edge in the first group's class: ->, <-, - (open), or empty for no edge",
        "other_mark": "the edge in the other group's class",
        "votes": "number of sites of the first group that join the pair, or have its mark",
        "sites": "number of sites of the first group",
        "other_votes": "the same number for the other group",
        "other_sites": "number of sites of the other group",
        "p": "p-value of Fisher's exact test on these votes, two-sided, as if groups were given",
        "p_holm": "the same, adjusted (Holm) over all differences of this kind of the two groups",
    },
    "families.csv": {
        "group": "number of a group",
        "other": "number of another one",
        "variable": "the variable",
        "differs": "structure (own parents), parameters (own tables of the same parents), nothing",
        "parents": "in the first group's consensus",
        "other_parents": "in the other group's consensus",
        "structure": "log marginal likelihood with own parents, minus the penalty of the second "
        "parent set; empty where the parents are the same",
        "parameters": "log marginal likelihood with the same parents and own tables",
        "nothing": "log marginal likelihood with the same parents and one table",
    },
}
"""What each column is."""


def write_readme(folder: Path) -> None:
    """Describe a results folder as it is now.

    Raises
    ------
    ResultsError : the text cannot be written.
    """
    there = [path for path in folder.rglob("*") if path.is_file()]
    headers = {path.relative_to(folder).as_posix(): _header(path) for path in there}
    write_whole(folder / FILE, folder_readme({**headers, FILE: ()}))


def _header(path: Path) -> Sequence[str]:
    """The columns of a CSV file; none of another."""
    if path.suffix != ".csv":
        return ()
    with path.open(encoding="utf-8", newline="") as file:
        return next(csv.reader(file), [])


def folder_readme(headers: Mapping[str, Sequence[str]]) -> str:
    """The text for a folder with these files; of others than fedbn's own it says nothing.

    Parameters
    ----------
    headers : file, relative to the folder -> the columns of a table, nothing for another file.
    """
    first = "Open report.html first."
    if "report.html" not in headers:
        first = "consensus.csv is the consensus."
    if "report.html" not in headers and "groups.csv" in headers:
        first = "Every group of sites is a cohort of its own: open cohorts/1/report.html first."
    lines = [f"Results of fedbn. {first}", "", *wrap(ARROWS, 100), ""]
    for pattern, words in FILES.items():
        meanings = COLUMNS.get(pattern, {})
        for name in sorted(name for name in headers if fnmatchcase(name, pattern)):
            lines += _entry(name, words, "")
            for column in headers[name]:
                if column in meanings:
                    lines += _entry(column, meanings[column], "    ")
    lines += ["", "The only times in this folder are the seconds in run.json and clients.csv."]
    return "\n".join(lines) + "\n"


def _entry(name: str, words: str, indent: str) -> list[str]:
    start = f"{indent}{name:<{26 - len(indent)}}"
    gap = " " * max(len(start), 26)
    return wrap(f"{start} {words}", 100, subsequent_indent=f"{gap} ", break_long_words=False)
