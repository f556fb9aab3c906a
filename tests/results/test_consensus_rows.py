"""consensus.csv: whose edge it is and whether its arrow is determined, against all members."""

from __future__ import annotations

from dataclasses import asdict
from fractions import Fraction
from io import StringIO

import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbn.consensus.mcbnc import mcbnc_path
from fedbn.consensus.threshold import select_consensus
from fedbn.graphs.dag import DAG
from fedbn.results.outcome import Client, Outcome
from fedbn.results.page.content import report_content
from fedbn.results.page.words import answers
from fedbn.results.rows import consensus_rows, edge_rows
from fedbn.results.summary import summarise
from tests import naive
from tests.strategies import dag_lists


def outcome_of(inputs: list[DAG], sizes: list[int]) -> Outcome:
    """A fusion of sites that send so many DAGs each."""
    path = mcbnc_path(inputs)
    clients, start = [], 0
    for number, size in enumerate(sizes):
        own = tuple(inputs[start : start + size])
        clients.append(Client(f"s{number}", own, (Fraction(1),) * size))
        start += size
    return Outcome(tuple(clients), path, select_consensus(path))


@settings(max_examples=20)
@given(dag_lists(min_nodes=2, max_nodes=4, max_dags=4), st.booleans())
def test_the_table_as_pandas_reads_it(inputs: list[DAG], together: bool) -> None:
    sizes = [len(inputs)] if together else [1] * len(inputs)
    outcome = outcome_of(inputs, sizes)
    dag, names = outcome.consensus.dag, outcome.consensus.dag.names
    text = str(report_content(outcome, {})["consensus"])
    table = pd.read_csv(StringIO(text))
    assert list(table.columns) == [
        "parent", "child", "directed", "support", "sites", "of", "theta"
    ]  # fmt: skip
    assert list(zip(table.parent, table.child, strict=True)) == list(dag.edges)
    members = naive.members(dag)
    more = {(row.parent, row.child): row for row in edge_rows(outcome)}
    for row in table.itertuples():
        i, j = names.index(row.parent), names.index(row.child)
        turned = any(member.adjacency[j, i] for member in members)
        assert row.directed == ("open" if turned else "compelled")
        having = [any(naive.skeleton(d)[i, j] for d in c.dags) for c in outcome.clients]
        assert (row.sites, row.of) == (sum(having), len(sizes))
        other = asdict(more[row.parent, row.child])
        assert row.support == other["support"]
        assert other["theta_decimal"] == (None if pd.isna(row.theta) else row.theta)


@settings(max_examples=20)
@given(dag_lists(min_nodes=2, max_nodes=4, max_dags=3))
def test_sites_agree_only_where_they_do(inputs: list[DAG]) -> None:
    outcome = outcome_of(inputs, [1] * len(inputs))
    dag = outcome.consensus.dag
    alike = sum(naive.same_class(each, dag) for each in inputs)
    assert summarise(outcome).agreeing == alike
    told = answers(vars(summarise(outcome)), dag, {}, consensus_rows(outcome), None, {})
    (found,) = (each.text for each in told if each.question == "What was found?")
    assert ("agree" in found) == (alike == len(inputs) > 1)


def test_few_sites_are_named_and_edges_of_all_sites_counted_once() -> None:
    dag = DAG.from_edges(("a", "b", "c"), [("a", "b"), ("b", "c")])
    outcome = outcome_of([dag, dag], [1, 1])
    rows = consensus_rows(outcome)

    def first_lines(distances: dict[str, float]) -> dict[str, tuple[str, str]]:
        told = answers(vars(summarise(outcome)), dag, {}, rows, 30, distances)
        return {each.question: (each.text, each.public) for each in told}

    few = first_lines({"north": 0.0, "south": 0.0})
    assert few["Who took part?"] == (
        "2 sites (north, south) with 30 rows in all.", "2 sites."
    )  # fmt: skip
    assert few["How sure is it?"][0].startswith(
        "All 2 edges are in the structures of all 2 sites. "
    )
    many = first_lines({f"site {k}": 0.0 for k in range(7)})
    assert "site 0" not in many["Who took part?"][0]
