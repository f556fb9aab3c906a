"""Results of sites with different variables: who sees what, who judged, and what is not known."""

import csv
import json
from fractions import Fraction
from pathlib import Path

import pytest

from fedbn.consensus.mcbnc import mcbnc_path
from fedbn.consensus.remarks import remarks
from fedbn.consensus.threshold import select_consensus
from fedbn.graphs.dag import DAG
from fedbn.results.outcome import Client, Outcome
from fedbn.results.page.content import report_content
from fedbn.results.page.html import page_html
from fedbn.results.page.public import public_content
from fedbn.results.page.states import site_distances
from fedbn.results.report import write_results
from fedbn.results.rows import client_rows, consensus_rows
from fedbn.results.strengths import strength_rows
from fedbn.results.summary import summarise
from fedbn.results.variables import (
    NEVER,
    CollectRow,
    collect_rows,
    judged_edge_rows,
    undecided_rows,
)
from tests.results.report_cases import RUN

TRUTH = DAG.from_edges("abcde", ["ab", "bc", "cd", "be"])
SITES = {
    "east": DAG.from_edges("abe", ["ab", "be"]),
    "north": DAG.from_edges("abcd", ["ab", "bc", "cd"]),
    "south": DAG.from_edges("acd", ["ac", "cd"]),
}


def outcome_of(sites: dict[str, DAG], gold: DAG | None = None, min_judges: int = 1) -> Outcome:
    path = mcbnc_path(list(sites.values()), variables="union", min_judges=min_judges)
    clients = tuple(Client(site, (dag,), (Fraction(1),)) for site, dag in sites.items())
    return Outcome(clients, path, select_consensus(path), gold=gold)


@pytest.fixture
def outcome() -> Outcome:
    return outcome_of(SITES, TRUTH)


def table(file: Path) -> list[dict[str, str]]:
    with file.open(newline="") as text:
        return list(csv.DictReader(text))


def test_the_consensus_is_the_truth_and_supports_are_of_those_who_see(outcome: Outcome) -> None:
    assert set(outcome.consensus.dag.edges) == set(TRUTH.edges)
    of = {(row.parent, row.child): (row.support, row.sites, row.of)
          for row in consensus_rows(outcome)}  # fmt: skip
    assert of == {
        ("a", "b"): (1.0, 2, 2),
        ("b", "c"): (1.0, 1, 1),
        ("c", "d"): (1.0, 2, 2),
        ("b", "e"): (1.0, 1, 1),
    }
    assert {(row.sites, row.of) for row in strength_rows(outcome, {})} == {(1, 1), (2, 2), (1, 2)}


def test_an_edge_says_who_sees_it_and_who_judged_it(outcome: Outcome) -> None:
    rows = {row.parent + row.child: row for row in judged_edge_rows(outcome)}
    assert (rows["ac"].seeing, rows["ac"].judges, rows["ac"].lacking) == (2, 1, 0)
    assert (rows["ac"].support, rows["ac"].psi) == (0.5, 0)
    for pair in ("ce", "de"):
        assert (rows[pair].status, rows[pair].support, rows[pair].seeing) == (NEVER, None, 0)


def test_distances_are_over_what_a_site_sees(outcome: Outcome) -> None:
    assert [row.smhd_to_consensus for row in client_rows(outcome)] == [0, 0, 1]
    assert [row.smhd_to_gold for row in client_rows(outcome)] == [0, 0, 1]
    assert {row.shd_to_gold for row in client_rows(outcome)} == {None}
    chosen = outcome.consensus.states.index(outcome.consensus.state)
    assert site_distances(outcome)[outcome.consensus.reading][chosen] == [0, 0, 1]
    summary = summarise(outcome)
    assert (summary.smhd_to_gold, summary.inputs_to_gold) == (0, pytest.approx(1 / 3))
    assert (summary.inputs_shd_to_gold, summary.inputs_sid_to_gold) == (None, None)


def test_what_one_more_column_would_decide(outcome: Outcome) -> None:
    told = [(row.variable + row.other, row.site, row.lacks) for row in undecided_rows(outcome)]
    assert told == [
        ("ce", "east", ("c",)),
        ("ce", "north", ("e",)),
        ("ce", "south", ("e",)),
        ("de", "east", ("d",)),
        ("de", "north", ("e",)),
        ("de", "south", ("e",)),
    ]
    assert collect_rows(outcome) == (
        CollectRow("north", "e", 2, 0),
        CollectRow("south", "e", 2, 0),
        CollectRow("east", "c", 1, 0),
        CollectRow("east", "d", 1, 0),
    )


def test_an_edge_that_no_site_can_judge_is_listed_with_what_is_lacking() -> None:
    """C2: three sites see two variables each, and nobody can tell that y separates x and z."""
    outcome = outcome_of({pair: DAG.from_edges(pair, [pair]) for pair in ("xy", "yz", "xz")})
    assert outcome.consensus.dag.n_edges == 3
    rows = [row for row in undecided_rows(outcome) if row.why != NEVER]
    assert rows
    first = rows[0]
    assert set(first.lacks) == set(first.given) - set(first.site)
    (row,) = [r for r in judged_edge_rows(outcome) if {r.parent, r.child} == set(first.site)]
    assert (row.seeing, row.judges, row.lacking) == (1, 1, 1)
    assert any("could be tested by no site" in words
               for words in remarks(outcome.path, outcome.consensus))  # fmt: skip


def test_remarks_name_what_nobody_sees_and_what_one_site_sees(outcome: Outcome) -> None:
    never, alone = remarks(outcome.path, outcome.consensus)
    assert never.startswith("no site has both variables of 2 pairs: c - e, d - e; whether")
    assert alone.startswith("only one site has 'e'")


def test_min_judges_are_counted_in_sites_and_told() -> None:
    whole, cut = DAG.from_edges("abc", ["ab", "bc"]), DAG.from_edges("ac", ["ac"])
    sites = {"one": whole, "two": cut, "three": cut}
    asked = outcome_of(sites, min_judges=2)
    told = {row.parent + row.child: (row.judges, row.lacking) for row in judged_edge_rows(asked)}
    assert told["ac"] == (3, 1)
    assert ("a", "c") in asked.consensus.dag.edges
    assert undecided_rows(asked) == ()  # "one" has all of the separating set
    twice = mcbnc_path(
        [whole, DAG.from_edges("abc", ["ab"]), cut],
        variables="union",
        min_judges=2,
        sites=["one", "one", "two"],
    )
    assert [step.psi for step in twice.steps if {step.x, step.y} == {"a", "c"}] != [0]


def test_the_folder_has_the_matrix_and_what_is_not_known(outcome: Outcome, tmp_path: Path) -> None:
    place = write_results(outcome, tmp_path / "out", run={"settings": {}}, figures=False)
    matrix = {row["variable"]: row for row in table(place / "variables.csv")}
    assert matrix["b"] == {"variable": "b", "sites": "2", "east": "1", "north": "1", "south": ""}
    statuses = {row["parent"] + row["child"]: row["status"] for row in table(place / "edges.csv")}
    assert [pair for pair, status in statuses.items() if status == NEVER] == ["ce", "de"]
    assert [row["column"] for row in table(place / "collect.csv")] == ["e", "e", "c", "d"]
    assert len(table(place / "undecided.csv")) == 6
    told = json.loads((place / "run.json").read_text())["variables"]
    assert told["lacking"] == {"east": ["c", "d"], "north": ["e"], "south": ["b", "e"]}
    assert (told["never_together"], told["first_never_together"]) == (2, [["c", "e"], ["d", "e"]])
    readme = (place / "README.txt").read_text()
    assert "variables.csv" in readme
    assert "judges" in readme


def test_whole_sets_leave_no_trace(tmp_path: Path) -> None:
    sites = dict.fromkeys(("one", "two"), TRUTH)
    place = write_results(outcome_of(sites), tmp_path / "out", run={"settings": {}}, figures=False)
    assert not {"variables.csv", "undecided.csv", "collect.csv"} & {f.name for f in place.iterdir()}
    assert "seeing" not in (place / "edges.csv").read_text()
    assert "variables" not in json.loads((place / "run.json").read_text())
    assert "variables" not in json.loads((place / "report.json").read_text())


def test_the_report_draws_what_is_not_known_as_such(outcome: Outcome) -> None:
    content = report_content(outcome, RUN)
    told = content["variables"]
    names = content["names"]
    assert [(names[i], names[j]) for i, j, _ in told["unknown"]] == [("c", "e"), ("d", "e")]
    assert told["seen"] == [[0, 1, 4], [0, 1, 2, 3], [0, 2, 3]]
    assert len(content["paths"]) == len(content["pairs"])
    page = page_html(content)
    assert page.count('class="unknown" d=') == 2
    assert "c and e: not known, no site has both" in page
    assert "Whether 2 pairs of variables are joined: no site has both." in page
    assert "No site has both variables of 2 pairs (status" in page
    assert "in the structures of all sites that have both ends" in page
    assert "Who measures what" in page
    assert '<th scope="col">Judges</th>' in page
    public = page_html(public_content(content))
    assert "Who measures what" not in public
    assert 'class="unknown" d=' not in public
