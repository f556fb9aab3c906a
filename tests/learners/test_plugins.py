"""Learners and scores of somebody else: what they see, what they may give, how errors name them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import fedbn as fb
from fedbn.errors import ConfigError, PluginError
from fedbn.graphs.dag import DAG
from fedbn.learners import LEARNERS, LearnerSettings, learn
from fedbn.registry import OWN, Registry
from fedbn.scores import SCORES, make_score
from fedbn.setting import probability, setting

TABLE = fb.Table.from_columns({"a": "0011" * 20, "b": "0011" * 20, "c": "0101" * 20})


@dataclass(frozen=True)
class Own(LearnerSettings):
    level: float = setting(0.1, "A level.", probability)
    word: str = setting("x", "A word.")


def chain(table: fb.Table, rng: np.random.Generator, settings: LearnerSettings) -> DAG:
    return DAG.from_edges(table.names, [("a", "b"), ("b", "c")])


def test_a_function_is_a_learner_as_it_is() -> None:
    found = fb.learn(TABLE, chain)
    assert found.dag.edges == (("a", "b"), ("b", "c"))
    assert (found.learner, found.score_name) == ("chain", "bdeu")
    assert found.score == pytest.approx(fb.learn(TABLE, chain, seed=9).score)
    assert "chain" not in LEARNERS


def test_a_function_that_has_the_name_of_a_learner_takes_nothing_from_it() -> None:
    def ges(table: fb.Table, rng: Any, settings: Any) -> DAG:
        return DAG.empty(table.names)

    assert fb.learn(TABLE, ges).dag.n_edges == 0
    assert fb.learn(TABLE, "ges").dag.n_edges == 1


def test_a_learner_by_the_name_of_its_parameter_sees_the_score() -> None:
    def best_pair(score: Any, rng: Any, settings: Any) -> DAG:
        gains = {
            (i, j): score.local_score(j, [i]) - score.local_score(j, [])
            for i in range(score.n)
            for j in range(score.n)
            if i < j
        }
        i, j = max(gains, key=lambda pair: gains[pair])
        return DAG.from_edges(score.names, [(score.names[i], score.names[j])])

    assert fb.learn(TABLE, best_pair, score="bic").dag.edges == (("a", "b"),)


def test_several_structures_have_weights() -> None:
    def two(table: fb.Table, rng: Any, settings: Any) -> Any:
        yield DAG.empty(table.names), 1
        yield chain(table, rng, settings), 3.0

    found = fb.learn(TABLE, two)
    assert found.weights == (1.0, 3.0)
    assert found.dag.n_edges == 2


def test_columns_in_any_order_are_put_in_order() -> None:
    def turned(table: fb.Table, rng: Any, settings: Any) -> DAG:
        return DAG.from_edges(table.names[::-1], [("c", "a")])

    assert fb.learn(TABLE, turned).dag.names == ("a", "b", "c")


def cyclic() -> DAG:
    """A DAG that is none, as code that goes behind the class's back could make one."""
    made = DAG.empty("abc")
    object.__setattr__(made, "_matrix", np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]], dtype=bool))
    return made


@pytest.mark.parametrize(
    ("gives", "words"),
    [
        (lambda: DAG.empty("ab"), "lacks the variable 'c'"),
        (lambda: DAG.empty("abcd"), "adds the variable 'd'"),
        (cyclic, "no directed cycle"),
        (lambda: None, "must give a DAG, or pairs"),
        (list, "1 to 20 structures"),
        (lambda: [(DAG.empty("abc"), 1.0)] * 21, "1 to 20 structures"),
        (lambda: [(DAG.empty("abc"), math.nan)], "positive and finite, not nan"),
        (lambda: [(DAG.empty("abc"), math.inf)], "positive and finite, not inf"),
        (lambda: [(DAG.empty("abc"), 0)], "positive and finite, not 0"),
        (lambda: [(DAG.empty("abc"), "much")], "positive and finite, not 'much'"),
        (lambda: [("abc", 1.0)], "must give fedbn.DAG structures"),
        (lambda: 1 / 0, "raised ZeroDivisionError"),
        (lambda: DAG.from_edges("abc", [("a", "a")]), "own parent|cycle"),
    ],
)
def test_what_a_learner_gives_is_checked_and_the_error_names_it(gives: Any, words: str) -> None:
    def mine(table: fb.Table, rng: Any, settings: Any) -> Any:
        return gives()

    with pytest.raises(PluginError, match=words) as caught:
        fb.learn(TABLE, mine)
    assert str(caught.value).startswith("learner 'mine' (tests.learners.test_plugins.")


def test_settings_of_its_own() -> None:
    told = []

    def mine(table: fb.Table, rng: Any, settings: Own) -> DAG:
        told.append((settings.level, settings.word, settings.max_parents))
        return DAG.empty(table.names)

    with lent_learner("mine", mine, settings=Own):
        fb.learn(TABLE, "mine")
        fb.learn(TABLE, "mine", level=0.25, word="7", max_parents=2)
        with pytest.raises(ConfigError, match="level must lie between 0 and 1, not 7"):
            fb.learn(TABLE, "mine", level=7.0)
        with pytest.raises(ConfigError, match="'levle' is no setting.*'level'"):
            fb.learn(TABLE, "mine", levle=0.5)
        with pytest.raises(ConfigError, match=r"turning is for ges.*'mine' has no use"):
            fb.learn(TABLE, "mine", turning=True)
    assert told == [(0.1, "x", None), (0.25, "7", 2)]


def test_settings_of_its_own_are_refused_by_others() -> None:
    with pytest.raises(ConfigError, match="unknown setting 'level' of the learner 'ges'"):
        learn(TABLE.dataset, LearnerSettings(own=("level=0.5",)), np.random.default_rng(0))


@pytest.mark.parametrize("text", ["level=high", "level=true", "level", "level=0.1"])
def test_texts_of_settings_are_read_strictly(text: str) -> None:
    asked = LearnerSettings(learner="mine", own=(text, "level=0.2"))
    with (
        lent_learner("mine", chain, settings=Own),
        pytest.raises(ConfigError, match="learner 'mine'"),
    ):
        learn(TABLE.dataset, asked, np.random.default_rng(0))


def test_a_start_is_for_learners_that_take_one() -> None:
    def again(table: fb.Table, rng: Any, settings: Any, start: DAG | None) -> DAG:
        return start or DAG.empty(table.names)

    begun = DAG.from_edges("abc", [("c", "a")])
    assert fb.learn(TABLE, again, start=begun).dag == begun
    with pytest.raises(ConfigError, match="'chain' has no use for a start"):
        fb.learn(TABLE, chain, start=begun)


def test_registered_names() -> None:
    registry: Registry[Any] = Registry("learner", "fedbn.tests", lambda name, thing, origin: thing)
    registry.add("ges", 1)
    registry.add("mine", 2, "here.f")
    registry.add("mine", 3, "here.f")
    assert (registry["mine"], list(registry), registry.is_own("ges")) == (3, ["ges", "mine"], True)
    with pytest.raises(ConfigError, match=r"'mine' of there\.g.*here\.f has one"):
        registry.add("mine", 4, "there.g")
    for origin in ("there.g", OWN):
        with pytest.raises(ConfigError, match="fedbn has one of this name"):
            registry.add("ges", 4, origin)
    with pytest.raises(ConfigError, match="'Mine'"):
        registry.add("Mine", 4, "there.g")
    with pytest.raises(ConfigError, match=r"'mines'.*ges, mine; did you mean 'mine'"):
        registry.find("mines")
    with pytest.raises(TypeError):
        registry["yours"] = 5  # type: ignore[index]


def test_what_is_no_learner_is_refused_at_once() -> None:
    with pytest.raises(ConfigError, match="must have 3 parameters, not table"):
        fb.register_learner("few")(lambda table: table)
    with pytest.raises(ConfigError, match="a learner must be a name .* or a function, not 7"):
        fb.learn(TABLE, 7)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="must derive from LearnerSettings"):
        fb.register_learner("plain", settings=dict)(chain)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="uses 'warmth'"):
        fb.register_learner("warm", uses=["warmth"])(chain)


def test_a_federation_of_functions() -> None:
    simulated = fb.simulate({"north": TABLE, "south": TABLE}, learner=chain)
    assert simulated.dag.n_edges == 2


class Pairs:
    """A LocalScore: 1 for every parent."""

    names = ("a", "b", "c")
    n = 3

    def local_score(self, node: int, parents: Any) -> float:
        return float(len(tuple(parents)))


def test_a_score_of_python_is_for_learners_that_see_one() -> None:
    def complete(score: Any, rng: Any, settings: Any) -> DAG:
        assert score.local_score(2, [0, 1]) == 2.0
        return DAG(score.names, np.triu(np.ones((3, 3), dtype=bool), 1))

    with lent_score("pairs", lambda table, row_weight: Pairs()):
        assert fb.learn(TABLE, complete, score="pairs").score == 3.0
        with pytest.raises(ConfigError, match=r"score 'pairs' \(.*is a function of Python"):
            fb.learn(TABLE, "ges", score="pairs")


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (lambda table, row_weight: 7, "names and local_score, not int 7"),
        (lambda table, row_weight: 1 / 0, "raised ZeroDivisionError"),
        (lambda table, row_weight: make_score("bic", other().dataset), "over the columns"),
    ],
)
def test_a_wrong_score_is_named(made: Any, words: str) -> None:
    with lent_score("wrong", made), pytest.raises(PluginError, match=words) as caught:
        fb.learn(TABLE, "hc", score="wrong")
    assert str(caught.value).startswith("score 'wrong' (")


def test_a_score_that_is_no_number_is_named() -> None:
    class Broken(Pairs):
        def local_score(self, node: int, parents: Any) -> float:
            return math.nan

    def ask(score: Any, rng: Any, settings: Any) -> DAG:
        return DAG.empty(score.names) if score.local_score(0, [1]) else DAG.empty("a")

    with (
        lent_score("broken", lambda table, row_weight: Broken()),
        pytest.raises(PluginError, match=r"s\(0, \[1\]\) must be a finite number, not nan"),
    ):
        fb.learn(TABLE, ask, score="broken")


def other() -> fb.Table:
    return fb.Table.from_columns({"x": "01", "y": "01"})


def lent_learner(name: str, function: Any, **more: Any) -> Any:
    from fedbn.learners.plugins import learner_of
    from fedbn.registry import origin_of

    return LEARNERS.lend(name, learner_of(name, function, **more), origin_of(function))


def lent_score(name: str, function: Any) -> Any:
    from fedbn.registry import origin_of
    from fedbn.scores.plugins import score_of_function

    return SCORES.lend(name, score_of_function(name, function), origin_of(function))
