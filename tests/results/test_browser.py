"""The report in a real browser: headless Chromium, driven by Playwright.

Debian's package is used (`apt-get install chromium`); the tests are skipped where there is none.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from fedbn.results.outcome import Outcome
from fedbn.results.page.content import report_content
from fedbn.results.page.html import page_html
from fedbn.results.page.public import public_content
from fedbn.results.rows import client_rows
from tests.results.report_cases import RUN, hostile, ordinary, outcome_of, parameters
from tests.results.test_variables import SITES
from tests.results.test_variables import outcome_of as different_outcome

sync_api = pytest.importorskip("playwright.sync_api", reason="the package playwright is missing")

CHROMIUM = shutil.which("chromium")
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here: apt-get install chromium"),
]

COUNT = """() => data.readings.map((reading, r) => reading.states.map((_, s) => {
  pickState(r, s); return document.querySelectorAll(".edge").length; }))"""


class Tab:
    """A page of the browser, and everything that it complained of or asked for."""

    def __init__(self, page: Any, folder: Path) -> None:
        self.page, self.folder = page, folder
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self._listeners: dict[str, Callable[[Any], None]] = {
            "console": lambda message: self.complaints.append(message.text),
            "pageerror": lambda error: self.complaints.append(str(error)),
            "dialog": lambda dialog: self.complaints.append(dialog.message),
            "request": lambda request: self.requests.append(request.url),
        }
        for event, listener in self._listeners.items():
            page.on(event, listener)

    def leave(self) -> None:
        """Leave the page as it was found, for the next test."""
        for event, listener in self._listeners.items():
            self.page.remove_listener(event, listener)
        self.page.emulate_media(media="null", color_scheme="null")
        self.page.goto("about:blank")

    def show(self, content: Mapping[str, Any], width: int = 1280) -> Any:
        """Open the content's page."""
        file = self.folder / "report.html"
        file.write_text(page_html(content), encoding="utf-8")
        self.page.set_viewport_size({"width": width, "height": 900})
        self.page.goto(file.as_uri())
        return self.page

    def require_quiet(self) -> None:
        """No complaint, and no request but for the page itself."""
        assert self.complaints == []
        assert {url.rsplit("/", 1)[-1] for url in self.requests} == {"report.html"}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """The one page of a browser: another page is another process of Chromium."""
    with sync_api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        page = running.new_page()
        page.set_default_timeout(10_000)
        yield page
        running.close()


@pytest.fixture
def tab(browser: Any, tmp_path: Path) -> Iterator[Tab]:
    tab = Tab(browser, tmp_path)
    yield tab
    tab.leave()


def edges_of(outcome: Outcome) -> list[list[int]]:
    """Per reading, per state its number of edges, from the structures."""
    found: dict[str, list[int]] = {}
    for state in outcome.consensus.states:
        found.setdefault(state.reading, []).append(state.dag.n_edges)
    return list(found.values())


def test_every_state_draws_its_edges_and_the_chosen_one_is_first(tab: Tab) -> None:
    outcome = ordinary()
    page = tab.show(report_content(outcome, RUN, parameters(outcome)))
    assert page.locator(".edge").count() == outcome.consensus.dag.n_edges
    assert "the consensus" in page.locator("#state").inner_text()
    assert page.evaluate(COUNT) == edges_of(outcome)
    slider = page.locator("#slider")
    page.evaluate("pickState(0, 0)")
    slider.focus()
    for n_edges in edges_of(outcome)[0][1:]:
        slider.press("ArrowRight")
        assert page.locator(".edge").count() == n_edges
    page.locator("#back").click()
    assert page.locator(".edge").count() == outcome.consensus.dag.n_edges
    tab.require_quiet()


QUESTIONS = [
    "Who took part?", "What was found?", "How sure is it?", "Are the arrows causes?",
    "Where do sites differ?",
]  # fmt: skip


def test_the_first_screen_answers_what_somebody_who_decides_asks(tab: Tab) -> None:
    outcome = ordinary()
    page = tab.show(report_content(outcome, RUN, parameters(outcome)))
    asked = page.locator(".answers dt")
    assert asked.all_inner_texts()[:5] == QUESTIONS
    answers = page.locator(".answers dd")
    for k in range(5):
        box = answers.nth(k).bounding_box()
        assert box["y"] + box["height"] < 900 * 2 / 3  # the drawing begins on the same screen
    assert page.locator("#network").bounding_box()["y"] < 900
    assert f"{len(outcome.clients)} sites" in answers.nth(0).inner_text()
    assert str(outcome.consensus.dag.n_edges) in answers.nth(1).inner_text()
    far = max(client_rows(outcome), key=lambda row: row.smhd_to_consensus)
    assert far.client in answers.nth(4).inner_text()


def test_the_public_page_answers_without_naming_a_site(tab: Tab) -> None:
    outcome = ordinary()
    page = tab.show(public_content(report_content(outcome, RUN, parameters(outcome))))
    told = page.locator(".answers").inner_text()
    assert "Not shown to the public." in told
    assert not any(client.label in told for client in outcome.clients)


LUMINANCE = """(selector) => {
  const shade = (text) => { const [r, g, b] = text.match(/[0-9.]+/g).slice(0, 3).map((value) => {
      const v = value / 255; return v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; });
    return .2126 * r + .7152 * g + .0722 * b; };
  const paper = shade(getComputedStyle(document.body).backgroundColor);
  return [...document.querySelectorAll(selector)].map((element) => {
    const style = getComputedStyle(element);
    const ink = shade(element.matches(".edge") ? style.stroke : style.color);
    return (Math.max(ink, paper) + .05) / (Math.min(ink, paper) + .05); }); }"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_and_edges_are_read_by_day_and_by_night(tab: Tab, scheme: str) -> None:
    outcome = ordinary()
    tab.page.emulate_media(color_scheme=scheme)
    page = tab.show(report_content(outcome, RUN, parameters(outcome)))
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
    assert dark == (scheme == "dark")
    words = page.evaluate(LUMINANCE, "h1, h2, dt, dd, p:not(.note):not(.warning), a, .legend")
    assert min(words) >= 4.5  # of WCAG 2.2, 1.4.3 and 1.4.11
    assert min(page.evaluate(LUMINANCE, ".edge")) >= 3.0
    tab.require_quiet()


def test_an_edge_too_many_in_a_state_is_noticed(tab: Tab) -> None:
    outcome = ordinary()
    content = report_content(outcome, RUN)
    last = content["readings"][0]["states"][-1]
    assert last["edges"] == 0
    last["changes"] = [*last["changes"], 0, 1]
    assert tab.show(content).evaluate(COUNT) != edges_of(outcome)


def test_an_edge_tells_who_has_it_and_a_site_where_it_differs(tab: Tab) -> None:
    outcome = ordinary()
    page = tab.show(report_content(outcome, RUN, parameters(outcome)))
    dag = outcome.consensus.dag
    first = page.locator(".edge").first
    first.focus()
    page.keyboard.press("Enter")
    k = int(page.evaluate("now.pair"))
    i, j = page.evaluate(f"ends({k}, codesAt(...data.chosen)[{k}])")
    told = page.locator("#panel").inner_text()
    have = [c.label for c in outcome.clients if c.dags[0].adjacency[i, j]]
    back = [c.label for c in outcome.clients if c.dags[0].adjacency[j, i]]
    assert f"{dag.names[i]} → {dag.names[j]}: {len(have)}" in told
    assert f"reversed: {len(back)}" in told
    assert all(label in told for label in (*have, *back))
    for site, client in enumerate(outcome.clients):
        page.evaluate(f"now.site = null; pickSite({site})")
        (own,) = client.dags
        ours, theirs = dag.adjacency | dag.adjacency.T, own.adjacency | own.adjacency.T
        assert page.locator(".edge.lacks").count() == int((ours & ~theirs).sum()) // 2
        assert page.locator("#edges .beyond").count() == int((theirs & ~ours).sum()) // 2
    button = page.locator("#site-table tbody button").nth(2)
    button.focus()
    page.keyboard.press("Enter")
    assert page.locator("#panel h3").inner_text() == outcome.clients[2].label
    assert page.evaluate("document.activeElement.textContent") == outcome.clients[2].label
    page.evaluate("pickSite(2)")
    cells = page.locator("#site-table tbody tr td:nth-child(5)").all_inner_texts()
    assert [float(text) for text in cells] == [r.smhd_to_consensus for r in client_rows(outcome)]
    tab.require_quiet()


def test_tables_sort_and_filter_and_tables_of_parameters_are_shown(tab: Tab) -> None:
    outcome = ordinary()
    network = parameters(outcome)
    page = tab.show(report_content(outcome, RUN, network))
    edges = page.locator("#edge-table")
    edges.get_by_role("button", name="Support").click()
    shares = [float(t) for t in edges.locator("tbody td:nth-child(4)").all_inner_texts()]
    assert shares == sorted(shares)
    assert edges.locator("th").nth(3).get_attribute("aria-sort") == "ascending"
    edges.get_by_role("searchbox").fill("v03")
    rows = edges.locator("tbody tr").all_inner_texts()
    assert rows
    assert all("v03" in row for row in rows)
    page.select_option("#variable", "3")
    assert page.locator("#parameter-table h3").inner_text() == "v03"
    cells = page.locator("#parameter-table table").last.locator("td.n").all_inner_texts()
    assert [float(text) for text in cells] == pytest.approx(network.cpts[3].ravel(), abs=1e-4)
    tab.require_quiet()


@pytest.mark.parametrize("public", [False, True])
def test_hostile_names_are_inert(tab: Tab, public: bool) -> None:
    outcome = hostile()
    content = report_content(outcome, RUN, parameters(outcome))
    page = tab.show(public_content(content) if public else content)
    if not public:
        page.evaluate("for (const k of data.pairs.keys()) pickPair(k)")
        page.evaluate("for (const site of data.sites.keys()) pickSite(site)")
    page.evaluate("for (const node of data.names.keys()) pickNode(node)")
    assert page.title() != "owned"
    assert page.locator("img, iframe").count() == 0
    assert page.evaluate("document.scripts.length") == 2
    assert "<img src=x" in page.locator("body").inner_text()
    tab.require_quiet()


def test_nothing_overflows_and_labels_fit_their_boxes(tab: Tab) -> None:
    outcome = hostile()
    for width in (400, 1280):
        page = tab.show(report_content(outcome, RUN, parameters(outcome)), width)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(
            """[...document.querySelectorAll(".node")].every((node) => {
              const text = node.querySelector("text").getBoundingClientRect();
              const box = node.querySelector("rect").getBoundingClientRect();
              return text.left >= box.left && text.right <= box.right; })"""
        )
    tab.require_quiet()


def test_on_paper_there_is_what_can_be_read_and_nothing_to_click(tab: Tab) -> None:
    outcome = ordinary()
    page = tab.show(report_content(outcome, RUN, parameters(outcome)))
    page.emulate_media(media="print")
    assert page.locator("#state").is_visible()
    assert page.locator("#origin details td").first.is_visible()
    assert not page.locator("input:visible, select:visible, .hint:visible, .tools:visible").count()
    assert not page.locator("#panel").is_visible()
    page.evaluate("pickSite(0)")
    assert page.locator("#panel").is_visible()
    assert page.pdf()[:4] == b"%PDF"
    tab.require_quiet()


def test_a_large_network_is_drawn_in_time_and_space(tab: Tab) -> None:
    names, sites = [f"p{k:03}" for k in range(120)], [f"s{k:02}" for k in range(20)]
    outcome = outcome_of(names, sites, changes=2)
    content = report_content(outcome, RUN)
    assert len(page_html(content)) < 1_000_000
    page = tab.show(content)
    assert page.locator(".edge").count() == outcome.consensus.dag.n_edges
    page.evaluate("pickState(0, 0)")
    assert page.locator(".edge").count() == outcome.path.union.n_edges
    page.locator("#finder").fill("p077")
    page.locator("#finder").press("Enter")
    assert page.locator("#panel h3").inner_text() == "p077"
    near = outcome.path.union.reorder(outcome.consensus.dag.names).adjacency[77]
    far = outcome.path.union.reorder(outcome.consensus.dag.names).adjacency[:, 77]
    assert page.locator("#edges .near").count() == int(near.sum() + far.sum())
    assert page.locator("#edge-table tbody tr").count() <= 200
    tab.require_quiet()


def test_what_a_site_does_not_see_is_not_what_it_lacks(tab: Tab) -> None:
    outcome = different_outcome(SITES)
    page = tab.show(report_content(outcome, RUN))
    assert page.locator("#edges .unknown").count() == 2
    names = [client.label for client in outcome.clients]
    page.evaluate(f"pickSite({names.index('south')})")  # it has neither b nor e
    assert page.locator(".edge.lacks").count() == 0
    assert page.locator("#edges .unknown").count() == 2
    assert page.locator("#edges .beyond").count() == 1  # a - c
    place = outcome.consensus.dag.names.index
    seen = f"data.pairs.findIndex((row) => row[0] === {place('b')} && row[1] === {place('c')})"
    page.evaluate(f"pickPair({seen})")
    told = page.locator("#panel").inner_text()
    assert "Do not have both variables: 2" in told
    assert "Judged by 1 of the 1 sites that have both variables." in told
    heads = page.locator("#edge-table th").all_inner_texts()
    assert heads[-3:] == ["Sites", "Of", "Judges"]
    assert page.locator("#variables td").filter(has_text="●").count() == 3 + 4 + 3
    tab.require_quiet()
