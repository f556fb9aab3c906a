"""The report's groups in Chromium, by mouse and by keyboard alone."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from fedbn.consensus.mcbnc import mcbnc_path
from fedbn.consensus.threshold import select_consensus
from fedbn.graphs.random import perturb, random_dag
from fedbn.groups.fusing import GroupFusion
from fedbn.results.groups import grouping_of
from fedbn.results.outcome import Client, Outcome
from fedbn.results.page.content import report_content
from fedbn.results.page.html import page_html
from fedbn.results.page.public import public_content
from tests.results.report_cases import RUN, SCRIPT
from tests.results.test_browser import CHROMIUM, Tab, browser, tab

__all__ = ["browser", "tab"]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None or shutil.which("chromium") is None, reason="no Chromium"),
]


@cache
def grouped_outcome(sizes: tuple[int, ...], first: str = "s0000") -> Outcome:
    """Sites around as many DAGs, put into that number of groups."""
    rng = np.random.default_rng(1)
    base = random_dag([f"v{k:02}" for k in range(10)], rng=rng, edges=12)
    centres = [base, *(perturb(base, 9, rng=rng) for _ in sizes[1:])]
    dags = [
        perturb(centre, 1, rng=rng)
        for centre, size in zip(centres, sizes, strict=True)
        for _ in range(size)
    ]
    labels = [first, *(f"s{k:04}" for k in range(1, len(dags)))]
    clients = tuple(
        Client(label, (dag,), (Fraction(1),)) for label, dag in zip(labels, dags, strict=True)
    )
    path = mcbnc_path(dags)
    outcome = Outcome(clients, path, select_consensus(path))
    return replace(outcome, grouping=grouping_of(outcome, str(len(sizes)), GroupFusion()))


def expected_kinds(outcome: Outcome, other: int = 2) -> dict[str, int]:
    """Edges of the first group's drawing beside another's, from differences.csv's rows."""
    assert outcome.grouping is not None
    rows = [d for d in outcome.grouping.differences if (d.group, d.other) == (1, other)]
    return {
        "only": sum(d.kind == "edge" and d.mark != "" for d in rows),
        "away": sum(d.kind == "edge" and d.mark == "" for d in rows),
        "turned": sum(d.kind == "direction" for d in rows),
    }


def kinds(page: Any, box: str) -> dict[str, int]:
    return {
        kind: page.locator(f"#{box} .edge.{kind}").count() for kind in ("only", "away", "turned")
    }


def test_the_tree_is_clicked_and_differences_are_marked(tab: Tab) -> None:
    outcome = grouped_outcome((4, 3))
    page = tab.show(report_content(outcome, RUN))
    assert page.locator("#cut-state").text_content() == "2 groups of 4, 3 sites"
    assert page.locator("#tree .branch").last.text_content().startswith("7 sites, mean SMHD ")
    assert kinds(page, "net-left") == expected_kinds(outcome)
    joined = outcome.grouping.consensuses[0].n_edges if outcome.grouping else 0
    both = page.locator("#net-left .edge.both").count()
    assert both + expected_kinds(outcome)["only"] + expected_kinds(outcome)["turned"] == joined
    page.locator("#tree .branch").last.dispatch_event("click")
    assert page.locator("#cut-state").text_content() == "2 groups of 4, 3 sites"
    page.locator("#tree .branch").first.dispatch_event("click")
    assert "7 groups" in page.locator("#cut-state").text_content()
    page.locator("#cut-back").click()
    assert page.locator("#cut-state").text_content() == "2 groups of 4, 3 sites"
    tab.require_quiet()


OUTSIDE = """() => ["#tree", "#net-left", "#net-right"].filter((name) => {
  const box = document.querySelector(name).closest(".scroll, .drawing");
  const below = name !== "#tree" && box.scrollHeight > box.clientHeight;
  return below || box.scrollWidth > box.clientWidth; })"""
"""Which of the drawings are cut off: at the side, a network of ten variables also below."""


def press_tab_to(page: Any, selector: str) -> None:
    """Tab until the focus is there; fails where Tab does not come there."""
    for _ in range(200):
        page.keyboard.press("Tab")
        if page.evaluate("(selector) => document.activeElement.matches(selector)", selector):
            return
    raise AssertionError(f"Tab does not lead to {selector}")


def test_by_keyboard_alone(tab: Tab) -> None:
    outcome = grouped_outcome((4, 3, 3))
    page = tab.show(report_content(outcome, RUN))
    press_tab_to(page, "#cut")
    page.keyboard.press("ArrowRight")
    assert page.locator("#cut-state").text_content().startswith("4 groups")
    press_tab_to(page, "#tree .branch")
    page.keyboard.press("Enter")
    assert page.locator("#cut-state").text_content().startswith("2 groups")
    for key in ("ArrowRight", "ArrowDown", "ArrowLeft"):
        page.keyboard.press(key)
    page.keyboard.press("Enter")
    assert page.locator("#cut-state").text_content().startswith("3 groups")
    press_tab_to(page, "#group-right")
    page.keyboard.press("ArrowDown")
    assert page.locator("#group-right").input_value() == "2"
    assert outcome.grouping is not None
    wanted = [d for d in outcome.grouping.differences if (d.group, d.other) == (1, 3)]
    assert page.locator("#differences tbody tr").count() == len(wanted)
    first = page.locator("#differences tbody tr").first.locator("td").all_text_contents()
    assert first[3:5] == [wanted[0].variable, wanted[0].second]
    assert float(first[9]) == pytest.approx(wanted[0].p, rel=0.05)
    assert kinds(page, "net-left") == expected_kinds(outcome, 3)
    one, _, third = (d.adjacency | d.adjacency.T for d in outcome.grouping.consensuses)
    assert page.locator("#net-left .edge").count() == (one | third).sum() // 2
    tab.require_quiet()


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("sizes", [(2, 1), (25, 15), (300, 200)])
def test_few_and_many_sites(tab: Tab, sizes: tuple[int, ...], width: int) -> None:
    content = report_content(grouped_outcome(sizes), RUN)
    page = tab.show(content, width)
    require_leaves_as_drawn(page, page_html(content), sum(sizes))
    assert page.locator("#tree .leaf").count() == sum(sizes)
    leaves = page.evaluate(
        "() => [...document.querySelectorAll('#tree .leaf')]"
        ".map((leaf) => leaf.getBoundingClientRect().top)"
    )
    assert len(set(leaves)) == sum(sizes)
    assert page.evaluate("() => document.documentElement.scrollWidth <= window.innerWidth")
    assert page.evaluate(OUTSIDE) == []
    tab.require_quiet()


def require_leaves_as_drawn(page: Any, text: str, sites: int) -> None:
    """The script writes beside the tree's leaves what was drawn there."""
    words = [
        ElementTree.fromstring(leaf)[0].tail
        for leaf in re.findall(r'<text class="leaf.*?</text>', text)
    ]
    shown = page.evaluate(
        "() => [...document.querySelectorAll('#tree .leaf')].map((leaf) => leaf.lastChild.data)"
    )
    assert shown == words
    if sites > 3:
        assert sum(word[-1].isdigit() for word in words) == (sites if sites <= 80 else 2)


def test_one_press_of_tab_leads_through_the_tree(tab: Tab) -> None:
    page = tab.show(report_content(grouped_outcome((300, 200)), RUN))
    page.locator("#cut-back").focus()
    press_tab_to(page, "#tree .branch")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "group-left"


def test_a_number_that_was_asked_for_is_no_finding(tab: Tab) -> None:
    outcome = grouped_outcome((4, 3))
    page = tab.show(report_content(outcome, RUN))
    assert "2 groups of sites, as asked for." in page.locator(".answers").inner_text()
    assert outcome.grouping is not None
    found = replace(outcome, grouping=replace(outcome.grouping, how="auto"))
    page = tab.show(report_content(found, RUN))
    said = page.locator(".answers").inner_text()
    assert "2 populations of sites found. They differ in" in said
    assert "with a network each: group 1 has 4 sites and" in said
    assert "drawn below, mixes them: a network of" in said


def test_names_that_mean_harm_and_the_public_page(tab: Tab) -> None:
    content = report_content(grouped_outcome((4, 3), first=SCRIPT), RUN)
    page = tab.show(content)
    assert page.title() != "owned"
    page.locator("#cut").focus()
    page.keyboard.press("ArrowRight")
    assert page.title() != "owned"
    tab.require_quiet()
    assert public_content(content)["groups"] is None
