"""The study of pooling, and what `simulate` says of it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from fedbn.errors import ConfigError, NetworkError
from fedbn.federation.settings import Experiment
from fedbn.networks.catalog import load_network
from fedbn.networks.random import with_parameters_around
from simulations.cli import app
from simulations.pooled import share_closed
from simulations.sites.tables import simulation
from simulations.studies.pooling.cases import cases
from simulations.studies.pooling.criteria import criteria, criteria_section
from simulations.studies.pooling.shares import way_share
from simulations.studies.pooling.untuned import network_of, promises, untuned_cases


def simulated(tmp_path: Path, *options: str) -> dict:
    common = ["simulate", "--network", "asia", "--clients", "4", "--rows", "200", "--json"]
    out = ["--engine", "in-process", "--out", str(tmp_path / "out")]
    found = CliRunner().invoke(app, [*common, *out, *options])
    assert found.exit_code == 0, found.output
    return json.loads(found.stdout)


@pytest.mark.slow
def test_simulate_says_what_chose_and_what_pooling_gives(tmp_path: Path) -> None:
    ladder = ("--row-weight", "ladder", "--row-weights", "1 2")
    content = simulated(tmp_path, *ladder, "--choose", "climb", "--count-rounds", "1")
    assert content["choose"] == "climb"
    assert content["row_weight"] in (1.0, 2.0)
    assert content["reading"] == "counts"
    assert content["counts"]["requests"] <= 2
    assert len(content["mechanisms"]) == 8
    assert content["pooled"]["edges"]
    summary = json.loads((tmp_path / "out" / "run.json").read_text())["summary"]
    assert summary["pooled_edges"] == len(content["pooled"]["edges"])
    assert summary["closed"] == content["pooled"]["closed"]


def test_simulate_without_pooling_and_counts(tmp_path: Path) -> None:
    content = simulated(tmp_path, "--row-weight", "1.5", "--no-pooled")
    assert content["row_weight"] == 1.5
    assert content["choose"] == "smhd"
    assert not {"pooled", "counts", "mechanisms"} & set(content)


@pytest.mark.parametrize("weight", ["0.5", "high", "nan"])
def test_wrong_row_weights_are_named(tmp_path: Path, weight: str) -> None:
    found = CliRunner().invoke(app, ["simulate", "--network", "asia", "--row-weight", weight])
    assert found.exit_code != 0
    assert "row-weight must be a number of at least 1, or ladder" in str(found.exception)


def test_a_ladder_is_for_a_federation(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("a,b\n" + "x,y\nz,w\n" * 9)
    found = CliRunner().invoke(app, ["learn", str(table), "--row-weight", "ladder"])
    assert "a ladder is for a federation" in str(found.exception)


def test_sites_with_parameters_of_their_own() -> None:
    experiment = Experiment.of(network="asia", clients=3, rows=4000, site_parameters=2.0)
    alike = experiment.change(site_parameters=None)
    own = [site.dataset.codes.mean(axis=0) for site in simulation(experiment).sites]
    same = [site.dataset.codes.mean(axis=0) for site in simulation(alike).sites]
    assert np.ptp(own, axis=0).max() > 5 * np.ptp(same, axis=0).max()
    again = [site.dataset.codes.mean(axis=0) for site in simulation(experiment).sites]
    assert np.array_equal(own, again)
    with pytest.raises(ConfigError, match="needs a network"):
        Experiment.of(table="x.csv", site_parameters=2.0)


def test_parameters_are_drawn_around_those_of_the_network() -> None:
    asia = load_network("asia")
    rng = np.random.default_rng(0)
    draws = [with_parameters_around(asia, 20.0, rng=rng) for _ in range(400)]
    for node, cpt in enumerate(asia.cpts):
        values = np.array([network.cpts[node] for network in draws])
        assert values.mean(axis=0) == pytest.approx(cpt, abs=0.03)
        assert values.var(axis=0) == pytest.approx(cpt * (1 - cpt) / 21, abs=0.005)
    one = with_parameters_around(asia, 1.0, rng=rng, variables={"lung"})
    changed = [a is b or np.array_equal(a, b) for a, b in zip(one.cpts, asia.cpts, strict=True)]
    assert changed == [name != "lung" for name in asia.names]
    with pytest.raises(NetworkError, match="positive and finite"):
        with_parameters_around(asia, 0.0, rng=rng)


def test_shares_of_a_distance() -> None:
    assert share_closed(10.0, 4.0, 0.0) == pytest.approx(0.6)
    assert share_closed(10.0, 12.0, 0.0) == pytest.approx(-0.2)
    assert share_closed(10.0, 4.0, 9.5) is None
    rows = [
        {"today": 9.0, "counts": 3.0, "pooled": 1.0},
        {"today": 11.0, "counts": 1.0, "pooled": 3.0},
    ]
    assert way_share(rows, "counts") == pytest.approx(1.0)
    assert way_share([{"today": 2.0, "counts": 0.0, "pooled": 1.0}], "counts") is None


def row_of(network: str, **given: float) -> dict:
    plain = {"rows": 500, "seed": 3, "requests": 4, "today": 20.0, "ladder": 10.0, "counts": 5.0}
    more = {"climb": 0.5, "pooled": 0.0, "climb_bdeu": -9.0, "pooled_bdeu": -9.0}
    more |= {f"{way}_held_out": -5.0 for way in ("today", "counts", "climb")}
    return {"network": network, **plain, **more, **given}


def test_promises_are_judged_by_means_of_cases() -> None:
    rows = [row_of("a", counts=6.0), row_of("a", counts=4.0), row_of("b", counts=4.0)]
    low = row_of("c", today=1.0, ladder=1.0)
    found = criteria("alike", [*rows, low, row_of("c", rows=200, counts=20.0)])
    assert [each.holds for each in found] == [True] * 7 + [False, True, True, True]
    assert found[7].found == "c 500 (+4.00)"
    assert found[0].found == "78 % (78 % uncapped), 2 cases"
    assert found[2].found == "minimum 98 %"
    worse = row_of("c", counts=9.0, climb=6.0, ladder=21.5, requests=12, climb_bdeu=-9.5)
    worse["climb_held_out"] = -5.03
    found = criteria("alike", [worse, *rows[:1], row_of("d", climb_bdeu=-9.1)])
    assert [each.holds for each in found] == [False] * 7 + [True, True, True, False]
    assert found[3].found == "11"
    assert found[4].found == "1 of 3"
    assert found[6].found == "+1.5"
    assert found[10].found == "c 500 (+0.03)"


def test_promises_of_sites_that_differ() -> None:
    near = {"concentration": 5.0, "counts": 7.0, "today": 6.0, "pooled": 10.0}
    far = {"concentration": 20.0, "counts": 9.0, "today": 6.0, "pooled": 10.0}
    assert [each.holds for each in criteria("differing", [row_of("a", **near)])] == [True, True]
    found = criteria("differing", [row_of("a", **near), row_of("b", **far)])
    assert [each.holds for each in found] == [False, True]
    assert found[0].found == "+3.0 (b, 500, 20.0)"
    mixed = [row_of("a", mechanisms_right=0.95), row_of("b", mechanisms_right=0.85)]
    assert [each.holds for each in criteria("mixed", mixed)] == [False]
    assert criteria("mixed", []) == criteria("sites", mixed) == []


def test_what_does_not_hold_comes_first_and_untouched_seeds_stand_alone() -> None:
    rows = [row_of("a", seed=1), row_of("a", seed=3, counts=15.0)]
    table = criteria_section("alike", rows).rows
    assert next(line[1:] for line in table) == ["all (2)", "50 % (50 % uncapped), 1 cases", "NO"]
    assert {line[1] for line in table} == {"all (2)", "from 3 on (1)"}
    verdicts = [line[-1] for line in table]
    assert verdicts == sorted(verdicts)


def test_a_case_of_the_study_compares_all_ways_on_the_same_tables() -> None:
    from simulations.studies.pooling.runs import run_case

    case = {
        "part": "mixed",
        "network": "asia",
        "rows": 400,
        "sites": 3,
        "learner": "ges",
        "score": "bdeu",
        "concentration": 5.0,
        "alpha": None,
        "seed": 1,
    }
    row = run_case(case)
    assert row == run_case(case)
    assert 0 <= row["mechanisms_right"] <= 1
    assert row["count_bytes"] <= row["climb_bytes"]


@pytest.mark.slow
def test_the_report_has_every_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def small(part: str, *, smoke: bool, seeds: int, first_seed: int):
        concentration = 5.0 if part in ("differing", "mixed") else None
        yield {
            "part": part,
            "network": "asia",
            "rows": 100,
            "sites": 3,
            "learner": "ges",
            "score": "aic" if part == "learners" else "bdeu",
            "concentration": concentration,
            "alpha": 0.5 if part == "divided" else None,
            "seed": 1,
        }

    monkeypatch.setattr("simulations.studies.pooling.cases.cases", small)
    found = CliRunner().invoke(app, ["reproduce", "pooling", "-q", "--out", str(tmp_path)])
    assert found.exit_code == 0, found.output
    report = (tmp_path / "report.md").read_text()
    titles = (
        "Sites alike",
        "What share",
        "What leaves",
        "of their own",
        "Shared or own",
        "latent",
        "Promises",
        "Untuned",
    )
    for title in titles:
        assert title in report
    assert (tmp_path / "alike.png").is_file()
    assert (tmp_path / "differing.png").is_file()
    assert len((tmp_path / "rows.jsonl").read_text().splitlines()) == 7


def untuned_row(network: str, climb: float, held_out: float) -> dict:
    found = {"network": network, "rows": 500, "today": 20.0, "today_held_out": -5.0}
    for way in ("ladder", "counts", "ges", "xges", "ils"):
        found |= {way: 10.0, f"{way}_held_out": -4.0}
    return found | {"climb": climb, "climb_held_out": held_out, "xges": 0.0, "ils_held_out": -3.0}


def test_the_ruler_is_the_best_pooled_learner() -> None:
    rows = [untuned_row("a", 0.0, -3.0), untuned_row("a", 2.0, -3.0), untuned_row("b", 1.0, -3.1)]
    found = {words: (text, holds) for words, text, holds in promises(rows)}
    text = "50 %, 2 cases; below 50 %: none"
    assert found["ladder: 60 % in SMHD"] == (text, False)
    assert found["climb: 92 % in SMHD"] == (text.replace("50 %, 2", "95 %, 2"), True)
    assert found["climb: 95 % in held-out log-likelihood"][0].startswith("98 %, 2 cases")
    nowhere = "climb: nowhere worse than today by more than 1 in SMHD"
    assert found[nowhere] == ("nowhere", True)
    worse = {each[0]: each[1:] for each in promises([untuned_row("c", 21.5, -5.1)])}
    assert worse[nowhere] == ("c 500 (+1.50)", False)
    assert worse["climb: 92 % in SMHD"] == ("-8 %, 1 cases; below 50 %: c 500 (-8 %)", False)


def test_seeds_begin_where_they_are_told_to() -> None:
    plain, fresh = (
        list(cases("sites", smoke=False, seeds=2, first_seed=first)) for first in (1, 11)
    )
    assert {case["seed"] for case in fresh} == {11, 12}
    assert [case | {"seed": case["seed"] - 10} for case in fresh] == plain


def test_untuned_cases_take_turns() -> None:
    found = list(untuned_cases(False, {"sites": 10}))
    assert len({(case["network"], case["rows"]) for case in found}) == len(found) == 18 * 3
    assert len({case["network"] for case in found[:18]}) == 18
    assert {case["rows"] for case in found[:3]} == {500, 1000, 5000}
    one = network_of("random 30 1")
    assert np.array_equal(one.cpts[3], network_of("random 30 1").cpts[3])
    assert {len(variable.states) for variable in one.schema.variables} == {2, 3, 4, 5, 6}


@pytest.mark.slow
def test_a_small_study_of_untuned_networks(tmp_path: Path) -> None:
    options = ["reproduce", "pooling", "--part", "untuned", "--smoke", "--network", "sachs"]
    found = CliRunner().invoke(app, [*options, "--quiet", "--out", str(tmp_path)])
    assert found.exit_code == 0, found.output
    report = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "| sachs | 500 | 1 |" in report
    assert "climb: 95 % in held-out log-likelihood" in report
