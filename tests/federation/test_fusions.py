"""Fusions by name, and those of somebody else."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import fedbn as fb
from fedbn.consensus.mcbnc import mcbnc_path, mcbnc_paths
from fedbn.consensus.pooling import select_among
from fedbn.data.schema import Schema
from fedbn.errors import ConfigError, PluginError
from fedbn.federation.checkpoint import Checkpoint, checkpoint_text, read_checkpoint
from fedbn.federation.fusions import FUSIONS, fuse_weighted, fusion_of
from fedbn.federation.offers import Offers
from fedbn.federation.rounds import server_round
from fedbn.federation.run_config import from_run_config, to_run_config
from fedbn.federation.settings import ConsensusSettings, Experiment
from fedbn.federation.state import ClientReply, ServerState
from fedbn.fusion.baselines import BASELINES, fuse_by
from fedbn.graphs.distances import mean_smhd
from fedbn.graphs.random import random_dag
from fedbn.learners import LEARNERS, LearnerSettings
from fedbn.learners.plugins import learner_of
from fedbn.setting import at_least, setting
from tests.naive_variables import given, random_sites

NAMES = "abcdef"
DAGS = {f"s{k}": random_dag(NAMES, edges=7, rng=np.random.default_rng(k)) for k in range(4)}


@dataclass(frozen=True)
class Own(ConsensusSettings):
    least: int = setting(2, "Sites that must have an edge.", at_least(1))


def first(dags: Any, weights: Any, rng: Any, settings: Any) -> fb.DAG:
    return dags[0]


@pytest.mark.parametrize("name", [n for n in BASELINES if not n.startswith("genetic")])
def test_every_baseline_is_a_fusion(name: str) -> None:
    fused = fb.fuse(DAGS, fusion=name)
    assert fused.dag == fuse_by(name, list(DAGS.values()))
    assert fused.mean_smhd == mean_smhd(fused.dag, list(DAGS.values()), [1] * 4)
    assert fused.theta is None
    assert fused.outcome.consensus.complete
    assert fused.gap == fused.mean_smhd - fb.fuse(DAGS).lower_bound


def test_a_function_is_a_fusion_as_it_is() -> None:
    assert fb.fuse(DAGS, fusion=first).dag == DAGS["s0"]
    assert "first" not in FUSIONS


def test_its_own_member_of_a_class_is_kept() -> None:
    ab, ba = (fb.DAG.from_edges("ab", [edge]) for edge in (("a", "b"), ("b", "a")))
    fused = fb.fuse({"x": ab, "y": ab}, fusion=lambda dags, weights, rng, settings: ba)
    assert fused.dag == ba


def test_a_path_is_chosen_on_as_ever() -> None:
    def clipped(dags: Any, weights: Any, rng: Any, settings: Any) -> Any:
        return mcbnc_path(dags, weights, pooling="clip")

    ours, theirs = fb.fuse(DAGS, robust="clip"), fb.fuse(DAGS, fusion=clipped)
    assert (ours.dag, ours.theta, ours.mean_smhd) == (theirs.dag, theirs.theta, theirs.mean_smhd)


def test_weights_are_those_of_the_sites() -> None:
    told: list[Any] = []

    def ask(dags: Any, weights: Any, rng: Any, settings: Any) -> fb.DAG:
        told.extend(weights)
        return dags[0]

    fb.fuse(DAGS, fusion=ask, weights={"s0": 1, "s1": 2, "s2": 3, "s3": Fraction(1, 2)})
    assert told == [1, 2, 3, Fraction(1, 2)]


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (lambda: fb.DAG.empty("abc"), "lacks the variable 'd'"),
        (lambda: "abc", "must give a DAG or an McbncPath"),
        (lambda: 1 / 0, "raised ZeroDivisionError"),
        (lambda: mcbnc_path([fb.DAG.empty(NAMES)]), "path of other inputs"),
    ],
)
def test_what_a_fusion_gives_is_checked_and_the_error_names_it(made: Any, words: str) -> None:
    def mine(dags: Any, weights: Any, rng: Any, settings: Any) -> Any:
        return made()

    with pytest.raises(PluginError, match=words) as caught:
        fb.fuse(DAGS, fusion=mine)
    assert str(caught.value).startswith("fusion 'mine' (tests.federation.test_fusions.")


def test_settings_of_its_own_are_in_the_run() -> None:
    told: list[int] = []

    def mine(dags: Any, weights: Any, rng: Any, settings: Own) -> fb.DAG:
        told.append(settings.least)
        return dags[0]

    with FUSIONS.lend("mine", fusion_of("mine", mine, settings=Own), "here"):
        rule = ConsensusSettings(fusion="mine", own=("least=3",))
        fuse_weighted(list(DAGS.values()), [1] * 4, rule)
        with pytest.raises(ConfigError, match="least must be at least 1, not 0"):
            fuse_weighted(list(DAGS.values()), [1] * 4, replace(rule, own=("least=0",)))
    assert told == [3]


def test_a_fusion_without_a_path_has_no_theta() -> None:
    with pytest.raises(ConfigError, match="'vote' gives one structure, without any θ"):
        fb.fuse(DAGS, fusion="vote", theta="1/2")


def test_sums_and_counts_are_for_mcbnc() -> None:
    with pytest.raises(ConfigError, match="'vote' needs structures"):
        ConsensusSettings(fusion="vote", aggregation="secure-sums")
    with pytest.raises(ConfigError, match="counts is for the fusion mcbnc, not for 'vote'"):
        ConsensusSettings(fusion="vote", choose="counts")


def test_a_checkpoint_keeps_what_another_fusion_found() -> None:
    schema = Schema.categorical(dict.fromkeys(NAMES, ("0", "1")))
    replies = [ClientReply(site, (dag,), (1.0,), "complete") for site, dag in DAGS.items()]
    experiment = Experiment.of(fusion="vote", network="asia")
    state = server_round(ServerState(schema, 4), replies, (), experiment.consensus)
    text = checkpoint_text(Checkpoint(to_run_config(experiment), state))
    again = read_checkpoint(text, "here").state
    assert state.result is not None
    assert again.result is not None
    assert again.result.consensus.dag == state.result.consensus.dag
    assert checkpoint_text(Checkpoint(to_run_config(experiment), again)) == text


def test_settings_of_plug_ins_are_keys_of_their_own() -> None:
    with FUSIONS.lend("mine", fusion_of("mine", first, settings=Own), "here"):
        said = from_run_config({"fusion": "mine", "mine-least": 4})
        assert said.consensus.own == ("least=4",)
        assert from_run_config(to_run_config(said)) == said
        with pytest.raises(ConfigError, match="is for the fusion 'mine', not for 'mcbnc'"):
            from_run_config({"mine-least": 4})
        with pytest.raises(ConfigError, match="not both"):
            from_run_config({"fusion": "mine", "mine-least": 4, "fusion-settings": "least=3"})


def test_a_deployed_site_runs_the_plug_ins_that_its_file_names() -> None:
    from fedbn.errors import PolicyError

    def mine(table: Any, rng: Any, settings: Any) -> fb.DAG:
        raise AssertionError("it was not asked for")

    with LEARNERS.lend("mine", learner_of("mine", mine), "here"):
        asked = LearnerSettings(learner="mine")
        for offers in (Offers(), Offers(score=("bdeu",)), Offers(learner=("ges",))):
            with pytest.raises(PolicyError, match="offers"):
                offers.require_named(asked)
        Offers(learner=("mine",)).require_named(asked)
    with pytest.raises(PolicyError, match="offers"):
        Offers(learner=("ges",)).require_named(LearnerSettings(score="not-installed"))
    Offers().require_named(LearnerSettings())


def test_counts_begin_at_what_is_nearest_to_all_sites() -> None:
    """Where sites have different variables; judges of pairs choose only where structures do."""
    rng = np.random.default_rng(50)
    n, r = int(rng.integers(3, 7)), int(rng.integers(2, 7))
    dags, _ = given(random_sites(rng, n, r, 0.4, 0.6), n)
    paths = mcbnc_paths(dags, variables="union")
    settings = ConsensusSettings(variables="union")
    _, _, alone = fuse_weighted(dags, [1] * r, settings)
    _, _, counted = fuse_weighted(dags, [1] * r, replace(settings, choose="counts"))
    assert counted.dag == select_among(paths, by_judges=False)[1].dag
    assert alone.dag == select_among(paths)[1].dag != counted.dag
