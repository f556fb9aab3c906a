"""What a notebook shows: drawings, tables, figures on axes of its own."""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ElementTree
from types import SimpleNamespace
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import fedbn as fb
from fedbn.api.drawing import MAX_DRAWN
from fedbn.api.notebook import dag_html, show_structures
from fedbn.errors import ConfigError, DataError, ResultsError
from fedbn.graphs.random import random_dag

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def table() -> fb.Table:
    return fb.Table(fb.load_network("asia").sample(300, np.random.default_rng(1)))


@pytest.fixture(scope="module")
def fused(table: fb.Table) -> fb.Fused:
    return fb.fuse([fb.learn(table, "hc"), fb.learn(table, "ges"), fb.DAG.empty(table.names)])


@pytest.fixture(autouse=True)
def close() -> Any:
    yield
    plt.close("all")


def drawing(html: str) -> ElementTree.Element:
    return ElementTree.fromstring(html[html.index("<svg") : html.index("</svg>") + 6])


def test_results_show_a_drawing_with_every_name_and_a_table(
    table: fb.Table, fused: fb.Fused
) -> None:
    for shown in (fb.learn(table), fused, fb.credible_set(table, bf=2), fb.simulate({"a": table})):
        html = shown._repr_html_()
        assert len(list(drawing(html).iter(f"{SVG}path"))) > len(table.names)
        assert all(f"<!-- {name} -->" in html for name in table.names)  # letters are paths
        assert "<table" in html
        assert repr(shown).partition("(")[0] in html


def test_a_table_shows_its_rows(table: fb.Table) -> None:
    html = table._repr_html_()
    assert "Table(300 rows" in html
    assert html.count("<tr") < 15


def test_names_are_no_markup() -> None:
    html = dag_html(fb.DAG.from_edges(["<b>&", "x"], [("<b>&", "x")]))
    assert "<b>" not in html
    assert "&lt;b&gt;&amp;" in html


def test_a_large_network_is_a_table_alone() -> None:
    names = [f"v{k:03d}" for k in range(MAX_DRAWN + 1)]
    html = dag_html(random_dag(names, edges=90, rng=np.random.default_rng(0)))
    assert "<svg" not in html
    assert "<table" in html


def test_figures_are_drawn_on_the_axes_that_are_given(table: fb.Table, fused: fb.Fused) -> None:
    credible = fb.credible_set(table, bf=2)
    for plot in (fused.plot, fused.plot_path, fb.learn(table).plot, credible.plot):
        figure, (left, right) = plt.subplots(1, 2)
        assert plot(ax=right) is right
        assert right.has_data() or right.patches
        assert not left.has_data() and not left.patches  # noqa: PT018
        before = plt.get_fignums()
        assert plot().figure.number not in before
        figure.canvas.draw()


def test_letters_are_small_on_small_axes(fused: fb.Fused) -> None:
    _, (small, _) = plt.subplots(1, 2, figsize=(3, 1))
    large = fused.plot()
    fused.plot(ax=small)
    assert small.texts[0].get_fontsize() < large.texts[0].get_fontsize()


def test_a_list_of_structures_has_numbers_for_names(table: fb.Table) -> None:
    dag = fb.learn(table).dag
    assert list(fb.fuse([dag] * 10).sites_frame().client) == [f"{k:02d}" for k in range(1, 11)]
    assert fb.fuse([dag, dag]).dag == fb.fuse({"a": dag, "b": dag}).dag


def test_a_table_of_a_frame_or_of_columns() -> None:
    frame = pd.DataFrame({"b": ["x", "y"], "a": [1, 2]})
    made = [fb.Table(frame), fb.Table({"b": ["x", "y"], "a": [1, 2]}), fb.Table.from_pandas(frame)]
    assert len({table.schema.hash for table in made}) == 1
    assert all((table.dataset.codes == made[0].dataset.codes).all() for table in made)
    with pytest.raises(DataError, match="made of a data frame or of columns, not int 7"):
        fb.Table(7)  # type: ignore[arg-type]


def test_knowledge_as_a_mapping(table: fb.Table) -> None:
    knowledge = {"forbidden": [["lung", "smoke"], ["smoke", "lung"]]}
    for learned in (
        fb.learn(table, "hc", knowledge=knowledge),
        fb.simulate({"a": table}, learner="hc", knowledge=knowledge),
    ):
        assert not {("lung", "smoke"), ("smoke", "lung")} & set(learned.dag.edges)
    with pytest.raises(ConfigError, match="forbiden"):
        fb.learn(table, "hc", knowledge={"forbiden": []})


def test_a_misspelt_keyword_is_answered_with_the_right_one(table: fb.Table) -> None:
    for call in (
        lambda: fb.learn(table, scor="bic"),
        lambda: fb.simulate({"a": table}, scor="bic"),
    ):
        with pytest.raises(ConfigError, match="'scor' is no setting of a learner.*'score'"):
            call()


def test_ipython_is_told_how_to_show_a_structure(monkeypatch: pytest.MonkeyPatch) -> None:
    told: dict[str, Any] = {}
    formatter = SimpleNamespace(for_type_by_name=lambda *names: told.update({names[1]: names[2]}))
    shell = SimpleNamespace(display_formatter=SimpleNamespace(formatters={"text/html": formatter}))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    assert show_structures()
    assert told == {"DAG": dag_html}
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: None))
    assert not show_structures()


def test_results_that_are_not_there() -> None:
    for wrong in ("no/such/folder", "no/such/*", []):
        with pytest.raises(ResultsError):
            fb.read_results(wrong)
