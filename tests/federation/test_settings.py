"""The flat run config: every setting has a key, and what comes back is what went in."""

import tomllib
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from fedbn.errors import ConfigError
from fedbn.federation.run_config import from_run_config, run_config_keys, to_run_config
from fedbn.federation.runs import SiteRun, site_run
from fedbn.federation.settings import GROUPS, ConsensusSettings, Experiment
from fedbn.learners import LearnerSettings

ROOT = Path(__file__).resolve().parents[2]

FULL = Experiment.of(
    sites=("b.csv", "a,b [1].csv"),
    clients=3,
    partition="dirichlet",
    partition_column="region",
    alpha=0.1,
    missing=("?",),
    schema="states.json",
    learner=LearnerSettings(score="bic", max_parents=4, seconds=2.5, turning=True),
    consensus=ConsensusSettings(reading="search", min_fraction=1.0, seconds=9.0),
    rounds_limit=3,
    share_diagnostics=True,
    seed=7,
)


@pytest.mark.parametrize(
    "experiment",
    [
        Experiment(),
        FULL,
        Experiment.of(network="asia", missing=("none",)),
        Experiment.of(sites=("[x.csv",)),
        Experiment.of(network="asia", missing=("",)),
    ],
)
def test_a_run_config_is_flat_complete_and_comes_back(experiment: Experiment) -> None:
    flat = to_run_config(experiment)
    assert tuple(flat) == run_config_keys()
    assert all(type(value) in (str, int, float, bool) for value in flat.values())
    assert "" not in flat.values()
    assert from_run_config(flat) == experiment


def test_how_it_is_executed_is_not_in_the_run_config() -> None:
    experiment = FULL.change(engine="in-process", processes=2)
    assert to_run_config(experiment) == to_run_config(FULL)
    back = from_run_config(to_run_config(experiment), engine="in-process", processes=2)
    assert back == experiment


def test_absent_keys_keep_their_defaults() -> None:
    assert from_run_config({"network": "asia"}) == Experiment.of(network="asia")
    assert from_run_config({"alpha": 1}).data.alpha == 1.0


def test_the_app_has_every_key_so_that_any_can_be_overridden() -> None:
    content = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    config = content["tool"]["flwr"]["app"]["config"]
    assert set(config) == set(run_config_keys())
    from_run_config(config)


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"lerner": "ges"}, "unknown setting 'lerner'; did you mean 'learner'"),
        ({"min_replies": 2}, "did you mean 'min-replies'"),
        ({"rows": "many"}, "'rows' must be a whole number, not 'many'"),
        ({"rows": True}, "'rows' must be a whole number, not True"),
        ({"turning": 1}, "'turning' must be true or false"),
        ({"network": ""}, "'network' must be text, not ''"),
        ({"sites": "[1, 2]"}, "'sites' must be a list of texts"),
        ({"sites": "[oops"}, "'sites' must be a list of texts"),
        ({"clients": 0}, "clients must be at least 1, not 0"),
        ({"rows": 0}, "rows must be at least 1"),
        ({"alpha": 0.0}, "alpha must be positive, not 0.0"),
        ({"alpha": float("nan")}, "alpha must be positive, not nan"),
        ({"partition": "dirichlet"}, "needs a partition-column"),
        ({"partition": "idd"}, "unknown partition 'idd'.*did you mean 'iid'"),
        ({"reading": "worst"}, "unknown reading 'worst'"),
        ({"min-fraction": 1.5}, "min-fraction must lie between 0 and 1"),
        ({"network": "asia", "table": "t.csv"}, "network and table are given"),
        ({"ess": 0}, "ess, .* must be above 0"),
    ],
)
def test_wrong_settings_are_refused_with_a_hint(config: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        from_run_config(config)


def test_a_site_knows_nothing_of_where_data_are_and_results_go() -> None:
    paths = {"out_dir": "/srv/out", "schema": "/srv/states.json", "sites": ("/srv/a.csv",)}
    run = Experiment.of(**paths, learner=LearnerSettings(learner="xges0"), rounds_limit=2)
    told = site_run(run)
    assert (told.learner.learner, told.rounds.rounds_limit, told.gives_schema) == ("xges0", 2, True)
    assert not told.samples
    assert "/srv" not in repr(told)
    assert site_run(Experiment.of(network="asia")).samples


def test_a_site_is_told_what_it_learns_and_answers_by() -> None:
    site = {each.name for each in fields(SiteRun)}
    assert site & {*GROUPS} == {"learner", "tables", "rounds"}
    assert site - {*GROUPS} == {"gives_schema", "samples", "variables"}


@pytest.mark.parametrize(
    ("data", "clients"),
    [
        ({}, None),
        ({"network": "asia", "clients": 3}, 3),
        ({"sites": ("a.csv", "b.csv")}, 2),
        ({"sites_dir": "tables"}, 0),
        ({"table": "t.csv", "partition": "column", "partition_column": "site"}, 0),
    ],
)
def test_a_server_knows_how_many_clients_there_must_be(
    data: dict[str, Any], clients: int | None
) -> None:
    assert Experiment.of(**data).data.client_count == clients


def test_tables_have_an_equivalent_sample_size_of_their_own_or_the_score_s() -> None:
    assert Experiment.of(ess=2.0, parameter_ess=3.0).parameter_ess == 3.0
    assert Experiment.of(ess=2.0).parameter_ess == 2.0


def test_a_consensus_keeps_what_the_last_change_of_knowledge_says() -> None:
    one = Experiment.of(knowledge='{"required": [["a", "b"]]}')
    known = one.consensus.known
    assert known is not None
    assert one.change(knowledge=None).consensus.known is None
    assert one.change(seed=2).consensus.known == known
    group = replace(one, consensus=replace(one.consensus, known=known.among(["a"])))
    assert group.consensus.known == known.among(["a"])


def test_cut_points_of_sums_over_all_groups_are_refused() -> None:
    grouped = {"groups_file": "groups.csv", "aggregation": "secure-sums"}
    with pytest.raises(ConfigError, match="discretise finds cut points from sums over all sites"):
        Experiment.of(**grouped, discretise=("age:3",))
    Experiment.of(**grouped, cuts=("age=40",))


def test_groups_are_not_tested_against_what_missing_cells_change() -> None:
    """Structures of several fillings of one table vary too little: alike sites were split."""
    filled = {"missing_cells": "impute", "imputations": 5}
    words = r"imputations \(here 5\) may differ by missing cells alone, where a site imputes"
    with pytest.raises(ConfigError, match=f"several {words}.* the learner bootstrap or credible"):
        Experiment.of(**filled, groups="auto")
    with pytest.raises(ConfigError, match=words):  # a site's file may have its cells imputed
        Experiment.of(imputations=5, groups="auto")
    Experiment.of(**filled, groups="2")
    for learner in ("bootstrap", "credible"):
        Experiment.of(**filled, groups="auto", learner=learner)
