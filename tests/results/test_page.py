"""The report without a browser: what its content says, and that the page is safe and repeatable."""

import base64
import csv
import json
import re
from dataclasses import fields, replace
from fractions import Fraction
from hashlib import sha256
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path

import pytest

from fedbn.consensus.mcbnc import mcbnc_path
from fedbn.consensus.threshold import select_consensus
from fedbn.errors import FedbnWarning, ResultsError
from fedbn.graphs.dag import DAG
from fedbn.graphs.distances import smhd
from fedbn.graphs.pdag import dag_to_cpdag
from fedbn.networks.parameter_sources import ParameterSources, remarks_on
from fedbn.results.dictionary import COLUMNS
from fedbn.results.outcome import Client, Outcome, PooledReference
from fedbn.results.page.content import report_content
from fedbn.results.page.files import read_content, refresh_parameters, write_report
from fedbn.results.page.html import page_html
from fedbn.results.page.public import public_content
from fedbn.results.page.states import BACKWARD, FORWARD, NONE, OPEN
from fedbn.results.page.svg import codes_at
from fedbn.results.palette import SHADES
from fedbn.results.record import sendable
from fedbn.results.report import tell_sources, write_network, write_results
from fedbn.results.rows import ClientRow, PathRow, client_rows
from fedbn.results.variables import CollectRow, JudgedEdgeRow, UndecidedRow
from tests.results.report_cases import RUN, hostile, ordinary, outcome_of, parameters

CSS = Path(__file__).parents[2] / "fedbn" / "results" / "page" / "report.css"


def coded(outcome: Outcome, content: dict, reading: int, state: int) -> dict[frozenset, int]:
    codes = codes_at(content, reading, state)
    return {frozenset(row[:2]): code for row, code in zip(content["pairs"], codes, strict=True)}


def test_every_state_is_told_pair_by_pair() -> None:
    outcome = ordinary()
    content = report_content(outcome, RUN)
    told = [(r["reading"], s["theta"]) for r in content["readings"] for s in r["states"]]
    states = outcome.consensus.states
    assert told == [(s.reading, None if s.theta is None else str(s.theta)) for s in states]
    places = [
        (r, s) for r, each in enumerate(content["readings"]) for s in range(len(each["states"]))
    ]
    for (r, s), state in zip(places, states, strict=True):
        codes = coded(outcome, content, r, s)
        joined = dag_to_cpdag(state.dag).adjacency
        for (i, j, *_), code in zip(content["pairs"], codes.values(), strict=True):
            expected = {(True, True): OPEN, (True, False): FORWARD, (False, True): BACKWARD}
            assert code == expected.get((bool(joined[i, j]), bool(joined[j, i])), NONE)
        assert sum(code != NONE for code in codes.values()) == state.n_edges


def test_distances_are_those_of_the_structures_and_of_clients_csv() -> None:
    outcome = ordinary()
    both = Client("both", tuple(outcome.dags[:2]), (Fraction(3, 4), Fraction(1, 4)))
    outcome = replace(outcome, clients=(*outcome.clients, both))
    content = report_content(outcome, RUN)
    for state in outcome.consensus.states:
        rows = content["distances"][state.reading]
        place = [s.theta for s in outcome.consensus.states if s.reading == state.reading]
        found = rows[place.index(state.theta)]
        for client, distance in zip(outcome.clients, found, strict=True):
            total = sum(client.shares)
            expected = sum(
                share * smhd(dag, state.dag)
                for share, dag in zip(client.shares, client.dags, strict=True)
            )
            assert distance == pytest.approx(float(expected / total))
    reading, state = content["chosen"]
    name = content["readings"][reading]["reading"]
    chosen = [row.smhd_to_consensus for row in client_rows(outcome)]
    assert content["distances"][name][state] == pytest.approx(chosen)


def test_arcs_are_those_of_the_sites() -> None:
    outcome = ordinary()
    content = report_content(outcome, RUN)
    for client, site in zip(outcome.clients, content["sites"], strict=True):
        at, arcs = 0, set()
        for step in site["arcs"]:
            at += step
            i, j = content["pairs"][at // 2][:2]
            arcs.add((j, i) if at % 2 else (i, j))
        (dag,) = client.dags
        assert {(dag.names[i], dag.names[j]) for i, j in arcs} == set(dag.edges)


class Page(HTMLParser):
    """Elements and attributes of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


@pytest.mark.parametrize("public", [False, True])
def test_hostile_names_are_text_and_nothing_is_loaded(public: bool) -> None:
    outcome = hostile()
    content = report_content(outcome, RUN, parameters(outcome))
    html = page_html(public_content(content) if public else content)
    tags = Page(html).tags
    assert sum(tag == "script" for tag, _ in tags) == 2
    assert not [tag for tag, _ in tags if tag in ("img", "iframe", "object", "b")]
    for _, attributes in tags:
        assert not [
            name for name in attributes if name.startswith("on") or name in ("src", "style")
        ]
    links = [each["href"] for tag, each in tags if tag == "a"]
    kinds = [str(link).partition(";")[0] for link in links]
    assert kinds == ["data:text/csv", "data:text/plain"][: 1 if public else 2]
    outside = re.sub(r'(?s)<script type="application/json".*?</script>|href="data:[^"]*"', "", html)
    outside = outside.replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"https?:|//[a-z]|@import|url\((?!#|&#)|\$\{location", outside)
    assert "\u202e" not in html
    assert "\x07" not in html


def test_the_page_depends_on_the_content_alone() -> None:
    outcome = ordinary()
    timed = replace(
        outcome, clients=tuple(replace(client, seconds=1.5) for client in outcome.clients)
    )
    one = report_content(outcome, {**RUN, "timings": {"seconds": 1}}, parameters(outcome))
    two = report_content(timed, {**RUN, "timings": {"seconds": 2}}, parameters(outcome))
    assert page_html(one) == page_html(two)


def test_without_a_script_there_are_drawing_and_tables() -> None:
    outcome = ordinary()
    html = page_html(report_content(outcome, RUN, parameters(outcome)))
    body = html[: html.index('<script type="application/json"')]
    assert body.count('class="edge e') == outcome.consensus.dag.n_edges
    assert body.count('class="node"') == outcome.consensus.dag.n
    for words in ("<noscript>", "site 4", "site 9", "no reply", "Threshold"):
        assert words in body


def test_the_public_page_names_no_site_and_no_rare_edge() -> None:
    outcome = ordinary()
    content = report_content(outcome, {**RUN, "inputs": [{"name": "a.csv", "sha256": "0"}]})
    shown = public_content(content)
    html = page_html(shown)
    assert "site 0" not in html
    assert "site 9" not in html
    assert "a.csv" not in html
    assert shown["n_refused"] == 1
    joined = [
        (row[0], row[1], sum(bool(d.adjacency[row[0], row[1]] or d.adjacency[row[1], row[0]])
                             for d in outcome.dags))
        for row in content["pairs"]
    ]  # fmt: skip
    common = [pair[:2] for pair in joined if pair[2] >= 3]
    assert 0 < len(common) < len(joined)
    assert [tuple(row[:2]) for row in shown["pairs"]] == common
    lines = list(csv.DictReader(StringIO(shown["consensus"])))
    names = outcome.consensus.dag.names
    kept = {frozenset((names[i], names[j])) for i, j in common}
    assert all(frozenset((line["parent"], line["child"])) in kept for line in lines)
    assert public_content(content, 99)["pairs"] == []


def told_by(html: str) -> str:
    """A page as its reader can search it: the text, and the files that its links hold, opened."""
    links = re.findall(r'href="data:[^,]*,([^"]*)"', html)
    return html + "".join(base64.b64decode(link).decode("utf-8") for link in links)


def test_no_site_and_no_rare_edge_is_anywhere_in_the_public_file() -> None:
    outcome = ordinary()
    run = {**RUN, "inputs": [{"setting": "sites", "name": "site 0.csv", "sha256": "0" * 64}],
           "settings": {**RUN["settings"], "sites": ["site 0.csv"]}}  # fmt: skip
    content = report_content(outcome, run, parameters(outcome))
    named = report_content(outcome, {**run, "settings": {"table": "north.csv"}})
    assert "north.csv" in page_html(named)
    assert "north.csv" not in page_html(public_content(named))
    told, shown = told_by(page_html(public_content(content))), told_by(page_html(content))
    found = json.loads(re.search(r'(?s)id="data">(.*?)</script>', told).group(1))
    assert not [c.label for c in outcome.clients if c.label in told]
    assert all(c.label in shown for c in outcome.clients)
    names = outcome.consensus.dag.names
    joined = [outcome.clients[k].dags[0].adjacency for k in range(5)]
    count = sum((own | own.T).astype(int) for own in joined)
    rare = [(i, j) for i in range(len(names)) for j in range(i) if count[i, j] < 3]
    assert rare
    assert not {frozenset(row[:2]) for row in found["pairs"]} & {frozenset(pair) for pair in rare}
    assert len(found["paths"]) == len(found["pairs"])
    assert all(max(s["changes"][::2], default=-1) < len(found["pairs"])
               for reading in found["readings"] for s in reading["states"])  # fmt: skip
    words = re.sub(r'(?s)<script type="application/json".*?</script>', "", told)
    for i, j in rare:
        for a, b in ((names[i], names[j]), (names[j], names[i])):
            assert not re.search(rf"{a}\W{{1,3}}{b}|{a}</td><td>{b}|{a} (→|-|to|and) {b}", words)


def test_the_public_page_has_no_table_from_which_people_can_be_counted() -> None:
    """With four people below a row its shares were the counts of their diagnoses."""
    outcome = ordinary()
    network = parameters(outcome)
    found = report_content(outcome, RUN, network)
    whole, public = (told_by(page_html(shown)) for shown in (found, public_content(found)))
    cells = {f"{cell:.4f}" for table in network.cpts for cell in table.ravel() if 0 < cell < 1}
    assert any(cell in whole for cell in cells)
    assert not any(cell in public for cell in cells)
    assert '"marginal"' in whole
    assert '"marginal"' not in public
    assert public_content(found)["bif"] is None


def test_links_hold_the_files_of_the_folder(tmp_path: Path) -> None:
    outcome = ordinary()
    network = parameters(outcome)
    out = write_results(outcome, tmp_path / "out", run=RUN, network=network, figures=False)
    html = (out / "report.html").read_text("utf-8")
    saved = dict(re.findall(r'download="([^"]*)" href="data:[^,]*,([^"]*)"', html))
    assert base64.b64decode(saved["consensus.bif"]) == (out / "consensus.bif").read_bytes()
    assert "consensus.bif" not in page_html(report_content(outcome, RUN))


def test_parameters_found_later_are_in_the_report(tmp_path: Path) -> None:
    outcome = ordinary()
    network = parameters(outcome)
    whole = write_results(outcome, tmp_path / "1", run=RUN, network=network, figures=False)
    failed = {**RUN, "parameters": {"failure": "no site answered"}}
    late = write_results(outcome, tmp_path / "2", run=failed, figures=False)
    assert "no site answered" in (late / "report.html").read_text("utf-8")
    write_network(network, late)
    refresh_parameters(late, network)
    assert (late / "report.html").read_bytes() == (whole / "report.html").read_bytes()


def test_tables_without_the_rows_of_some_sites_are_told(tmp_path: Path) -> None:
    outcome = ordinary()
    network = parameters(outcome)
    name, site = network.names[0], "<b>north</b>"
    run = {**RUN, "parameters": {"held_back": {name: [site, "south"]}, "failure": None}}
    out = write_results(outcome, tmp_path / "1", run=run, network=network, figures=False)
    html = (out / "report.html").read_text("utf-8")
    row = f"<tr><td>{name}</td><td>&lt;b&gt;north&lt;/b&gt;, south</td></tr>"
    assert row in html
    assert "(min-cell)" not in page_html(report_content(outcome, RUN, network))
    assert "(min-cell)" not in page_html(report_content(outcome, run, None))
    assert "south" not in json.dumps(public_content(report_content(outcome, run, network), 0))
    tell_sources(out, None)
    refresh_parameters(out, network)
    assert "(min-cell)" not in (out / "report.html").read_text("utf-8")
    assert json.loads((out / "run.json").read_bytes())["parameters"] is None
    (out / "run.json").write_text("[1]")
    with pytest.raises(ResultsError, match="is not as fedbn wrote it"):
        tell_sources(out, None)


def test_what_pooling_would_have_given_is_told_where_it_is_known() -> None:
    outcome = ordinary()
    title = "What pooling would have given"
    assert title not in page_html(report_content(outcome, RUN))
    assert outcome.gold is not None
    known = replace(outcome, pooled=PooledReference(outcome.gold, 0.5))
    content = report_content(known, RUN)
    html = page_html(content)
    assert title in html
    assert f"to the consensus is {smhd(outcome.gold, outcome.consensus.dag)}" in html
    assert "achieves 50 % of that" in html
    assert '<td>GES on all rows pooled</td><td class="n">0</td>' in html
    assert title in page_html(report_content(replace(known, gold=None), RUN))


def test_one_variable_no_edge_and_no_theta_have_reports() -> None:
    lone = DAG.empty(["only"])
    path = mcbnc_path([lone, lone])
    clients = tuple(Client(str(k), (lone,), (Fraction(1),)) for k in range(2))
    html = page_html(report_content(Outcome(clients, path, select_consensus(path)), RUN))
    assert html.count('class="node"') == 1
    assert 'class="edge' not in html.split('id="data"')[0]


def test_folder_report_and_public_report(tmp_path: Path) -> None:
    outcome = ordinary()
    out = write_results(outcome, tmp_path / "out", run=RUN, figures=False)
    first = (out / "report.html").read_bytes()
    (out / "report.html").unlink()
    assert write_report(out) == out / "report.html"
    assert (out / "report.html").read_bytes() == first
    public = write_report(out, public=True)
    assert public.name == "report-public.html"
    assert b"site 0" not in public.read_bytes()
    assert len(read_content(out)["pairs"]) > 0
    (out / "report.json").write_text("{}")
    with pytest.raises(ResultsError, match=r"report\.json"):
        write_report(out)


def test_every_column_is_in_the_dictionary() -> None:
    for file, kind in (
        ("path.csv", PathRow),
        ("edges.csv", JudgedEdgeRow),
        ("clients.csv", ClientRow),
        ("undecided.csv", UndecidedRow),
        ("collect.csv", CollectRow),
    ):
        assert list(COLUMNS[file]) == [field.name for field in fields(kind)]


def test_thetas_and_psis_are_fraction_and_decimal(tmp_path: Path) -> None:
    out = write_results(ordinary(), tmp_path / "out", run=RUN, figures=False)
    for name in ("path.csv", "edges.csv"):
        with (out / name).open(newline="") as file:
            for row in csv.DictReader(file):
                for key in ("theta", "psi"):
                    assert (row[key] == "") == (row[f"{key}_decimal"] == "")
                    if row[key]:
                        assert float(row[f"{key}_decimal"]) == float(Fraction(row[key]))
    summary = json.loads((out / "run.json").read_text())["summary"]
    assert float(Fraction(summary["mean_smhd"])) == summary["mean_smhd_decimal"]


def test_a_record_has_names_and_hashes_but_no_paths(tmp_path: Path) -> None:
    table = tmp_path / "north.csv"
    table.write_text("a,b\n0,1\n")
    settings = {
        "sites": json.dumps([str(table), str(tmp_path / "gone.csv")]),
        "table": "none",
        "out-dir": str(tmp_path / "out"),
        "missing": '["?", "-"]',
        "rows": 500,
    }
    record = sendable({"settings": settings})
    assert record["settings"]["table"] is None
    assert record["settings"]["out-dir"] is None
    assert record["settings"]["sites"] == ["north.csv", "gone.csv"]
    assert record["settings"]["missing"] == ["?", "-"]
    (hashed,) = record["inputs"]
    digest = sha256(table.read_bytes()).hexdigest()
    assert hashed == {"setting": "sites", "name": "north.csv", "sha256": digest}
    assert str(tmp_path) not in json.dumps(record)


def test_shades_of_figures_and_page_are_the_same() -> None:
    style = CSS.read_text()
    by_day = style.partition("}")[0]
    for level, shade in enumerate(SHADES):
        assert f"--e{level}:{shade.lower()};" in by_day
        assert re.search(rf"\.e{level}(,\.\w+)?\{{stroke:var\(--e{level}\);", style)
        assert f".w{level}{{fill:var(--e{level})}}" in style


def test_names_in_scripts_that_no_font_has_are_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fedbn.results import fonts

    monkeypatch.setattr(fonts, "font_families", lambda: ("DejaVu Sans",))
    with pytest.warns(FedbnWarning, match=r"1 name by its number.*年齢 is #2, .*has the names"):
        labels = fonts.drawable_labels(["a", "年齢", "شدة"])
    assert labels == {"a": "a", "年齢": "#2", "شدة": "شدة"}
    outcome = outcome_of(["年齢", "性別", "b"], ["x", "y"], changes=1)
    with pytest.warns(FedbnWarning) as told:
        write_results(outcome, tmp_path / "out", run=RUN)
    assert all(warning.category is FedbnWarning for warning in told)


def test_a_name_is_drawn_where_one_of_the_fonts_has_its_script(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from fedbn.results import fonts

    assert fonts.font_families()[0] == "DejaVu Sans"
    assert fonts.drawable_labels(["\u0505"]) == {"\u0505": "\u0505"}
    monkeypatch.setattr(fonts, "font_families", lambda: ("DejaVu Sans Mono", "DejaVu Sans"))
    assert fonts.drawable_labels(["\u0505"]) == {"\u0505": "\u0505"}
    monkeypatch.setattr(fonts, "font_families", lambda: ("DejaVu Sans Mono",))
    with pytest.warns(FedbnWarning, match="is #1"):
        assert fonts.drawable_labels(["\u0505"]) == {"\u0505": "#1"}


def test_what_parameters_lack_is_no_lack_of_warnings() -> None:
    """The report has the lines that the command prints, and the public page none of them."""
    sources = ParameterSources(
        sites=("a",),
        refused=(("b", "no reply"),),
        added=(("ill", "age"),),
        turned=(("ill", "crp"),),
        shifts=(("crp", (("a", 1.0),)),),
        cut=(("age", (40.0,)),),
    )
    content = report_content(ordinary(), {**RUN, "parameters": sources.to_dict()})
    assert content["parameter_remarks"] == remarks_on(sources)
    assert "the parameters are without the rows of b: no reply" in page_html(content)
    assert "See also the warnings under" in page_html(content)
    assert "no reply" not in page_html(public_content(content))
    with pytest.raises(ResultsError, match="must name the sites whose rows"):
        report_content(ordinary(), {**RUN, "parameters": {"refused": [3]}})
    assert "parameter_remarks" not in report_content(ordinary(), RUN)
