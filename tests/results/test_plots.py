"""Figures: what they mark, and that small and large networks come out readable in size."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.patches import FancyBboxPatch, PathPatch, Polygon

from fedbn.consensus.mcbnc import mcbnc_path, mcbnc_paths
from fedbn.consensus.pooling import select_among
from fedbn.consensus.threshold import select_consensus
from fedbn.graphs.dag import DAG
from fedbn.graphs.random import perturb, random_dag
from fedbn.results.network_plot import network_figure
from fedbn.results.outcome import Client, Outcome
from fedbn.results.plots import complexity_figure, save_figure, smhd_figure
from fedbn.results.rows import path_rows
from fedbn.results.summary import summarise
from tests.naive_variables import given, random_sites


def outcome_of(n: int, seed: int = 0) -> Outcome:
    rng = np.random.default_rng(seed)
    names = [f"v{i:02}" for i in range(n)]
    gold = random_dag(names, edges=int(1.2 * n), rng=rng)
    dags = [perturb(gold, n // 3, rng=rng) for _ in range(5)]
    path = mcbnc_path(dags)
    clients = tuple(Client(str(i), (dag,), (1,)) for i, dag in enumerate(dags))
    return Outcome(clients, path, select_consensus(path), gold=gold)


@pytest.mark.parametrize("known", [True, False])
def test_smhd_over_theta_marks_selection_bound_and_inputs(known: bool) -> None:
    outcome = outcome_of(10)
    if not known:
        outcome = Outcome(outcome.clients, outcome.path, outcome.consensus)
    summary = summarise(outcome)
    figure = smhd_figure(path_rows(outcome), summary)
    assert len(figure.axes) == (2 if known else 1)
    labels = {text.get_text() for text in figure.legends[0].get_texts()}
    assert {"search reading", "refusion reading", "lower bound for any DAG"} <= labels
    assert ("mean of the inputs" in labels) == known
    marks = {line.get_marker(): line for line in figure.axes[0].lines}
    assert marks["*"].get_ydata()[0] == pytest.approx(float(summary.mean_smhd))
    assert marks["s"].get_ydata()[0] == pytest.approx(summary.fusion_mean_smhd)
    ticks = [text.get_text() for text in figure.axes[-1].get_xticklabels()]
    assert ticks[0] == "$G^+$"


def test_a_judged_vote_is_no_edge_vote_in_the_legend() -> None:
    rng = np.random.default_rng(8)  # tests/consensus/test_judged_vote.py: it is taken there
    n, r = int(rng.integers(3, 7)), int(rng.integers(2, 7))
    dags, weights = given(random_sites(rng, n, r, 0.4, 0.6), n)
    path, consensus = select_among(mcbnc_paths(dags, weights, variables="union"))
    assert consensus.reading == "vote"
    clients = tuple(Client(str(i), (dag,), (1,)) for i, dag in enumerate(dags))
    outcome = Outcome(clients, path, consensus)
    figure = smhd_figure(path_rows(outcome), summarise(outcome))
    labels = {text.get_text() for text in figure.legends[0].get_texts()}
    assert "selected, the vote of judges" in labels


def test_complexity_over_theta(tmp_path: Path) -> None:
    outcome = outcome_of(10)
    figure = complexity_figure(path_rows(outcome), summarise(outcome), gold=outcome.gold)
    assert [axis.get_ylabel() for axis in figure.axes] == ["edges", "treewidth (upper bound)"]


@pytest.mark.parametrize("n", [1, 8, 76])
def test_networks_fit_a_page(n: int, tmp_path: Path) -> None:
    dag = outcome_of(n).consensus.dag if n > 1 else DAG.empty(["only"])
    figure = network_figure(dag)
    width, height = figure.get_size_inches()
    assert 3 < width < 16
    assert height < 18
    boxes = [patch for patch in figure.axes[0].patches if isinstance(patch, FancyBboxPatch)]
    assert len(boxes) == n
    save_figure(figure, tmp_path / "network")
    assert (tmp_path / "network.png").read_bytes()[:4] == b"\x89PNG"


def test_kinds_of_edges_differ_in_colour_and_dash_and_width_is_support() -> None:
    dag = DAG.from_edges("abcd", ["ab", "bc", "cd"])
    status = {
        ("a", "b"): "true",
        ("b", "c"): "reversed",
        ("c", "d"): "extra",
        ("d", "a"): "missing",
    }
    support = {("a", "b"): 1.0, ("b", "c"): 0.5, ("c", "d"): 0.2}
    figure = network_figure(dag, support=support, status=status)
    lines = [patch for patch in figure.axes[0].patches if type(patch) is PathPatch]
    assert len(lines) == 4
    assert len({line.get_edgecolor() for line in lines}) == 4
    assert len({str(line.get_linestyle()) for line in lines}) == 4
    widths = [line.get_linewidth() for line in lines if line.get_zorder() == 2]
    assert widths == sorted(widths)
    assert len(set(widths)) == 3
    assert len(figure.legends[0].get_texts()) == 5


def test_open_edges_have_no_arrowhead() -> None:
    dag = DAG.from_edges("abcd", ["ac", "bc", "cd"])
    words = {("a", "c"): "compelled", ("b", "c"): "open", ("c", "d"): "open"}
    figure = network_figure(dag, directed=words)
    heads = [patch for patch in figure.axes[0].patches if type(patch) is Polygon]
    assert len(heads) == 1
    assert "no head: direction open" in {t.get_text() for t in figure.legends[0].get_texts()}
    assert len([p for p in network_figure(dag).axes[0].patches if type(p) is Polygon]) == 3


def test_long_names_are_shortened() -> None:
    figure = network_figure(DAG.empty(["a_name_that_is_longer_than_any_box"]))
    (label,) = figure.axes[0].texts
    assert label.get_text() == "a_name_that…_any_box"
