"""The one table of learners: name -> Learner, for fedbn's own and for those of others alike."""

from __future__ import annotations

from dataclasses import fields

from fedbn.errors import ConfigError
from fedbn.learners.exact import run_cg_dca, run_optimal, run_ordering
from fedbn.learners.greedy import (
    run_bootstrap,
    search_boss,
    search_ges,
    search_hill_climbing,
    search_ils,
    search_xges,
    search_xges0,
)
from fedbn.learners.learner import Learner, Search, run_search
from fedbn.learners.plugins import learner_of
from fedbn.learners.private import run_dp_climb, run_dp_ges, run_dp_moments
from fedbn.learners.sets import run_credible
from fedbn.learners.settings import LearnerSettings
from fedbn.own_settings import with_own
from fedbn.registry import Registry
from fedbn.setting import settings_of

_COUNTING = frozenset({"knowledge", "threads"})
_CLASSES = _COUNTING | {"max_t", "random_ties"}
_PHASES = frozenset({"turning", "repeat"})
_EXACT = frozenset({"knowledge", "search_memory_mb"})
_PRIVATE = frozenset({"epsilon", "delta", "noise"})
_DRAWN = _PRIVATE | {"dp_edges"}
_CG_DCA = _EXACT | {"pricing"}


def _on_score(search: Search, uses: frozenset[str]) -> Learner:
    """A learner that sees the table through its score alone."""
    return Learner(run_search(search), uses, takes_start=True, search=search)


LEARNERS: Registry[Learner] = Registry("learner", "fedbn.learners", learner_of)
"""Name -> learner; the names are those of the setting `learner`."""

for _name, _learner in {
    "ges": _on_score(search_ges, _CLASSES | _PHASES),
    "xges0": _on_score(search_xges0, _CLASSES),
    "xges": _on_score(search_xges, _CLASSES),
    "ils": _on_score(search_ils, _CLASSES),
    "boss": _on_score(search_boss, _COUNTING | {"candidates"}),
    "hc": _on_score(search_hill_climbing, _COUNTING),
    "cg-dca": Learner(run_cg_dca, _CG_DCA),
    "optimal": Learner(run_optimal, _EXACT),
    "ordering": Learner(run_ordering, _EXACT),
    "bootstrap": Learner(
        run_bootstrap, _CLASSES | _PHASES | {"max_dags", "replicates"}, takes_start=True
    ),
    "credible": Learner(run_credible, frozenset({"knowledge", "bayes_factor", "max_dags"})),
    "dp-climb": Learner(run_dp_climb, _DRAWN, is_private=True),
    "dp-ges": Learner(run_dp_ges, _DRAWN, is_private=True),
    "dp-moments": Learner(run_dp_moments, _PRIVATE | {"bounds"}, is_private=True),
}.items():
    LEARNERS.add(_name, _learner)


def find_learner(name: str) -> Learner:
    """The learner with this name; raises ConfigError listing the known ones."""
    return LEARNERS.find(name)


def learner_for(settings: LearnerSettings) -> Learner:
    """The learner that the settings name.

    Raises
    ------
    ConfigError : there is none, or a setting is given that it would ignore in silence.
    """
    chosen = find_learner(settings.learner)
    keys = {each.name: each.key for each in settings_of(LearnerSettings)}
    for field in fields(LearnerSettings):
        users = users_of(field.name)
        given = getattr(settings, field.name) != field.default
        if given and users and settings.learner not in users:
            raise ConfigError(
                f"{keys[field.name]} is for {', '.join(users)}; the learner {settings.learner!r} "
                "has no use for it"
            )
    with_own(
        settings, chosen.own, LearnerSettings, settings.own, LEARNERS.describe(settings.learner)
    )
    return chosen


def users_of(name: str) -> tuple[str, ...]:
    """The learners that are loaded and that a field of LearnerSettings is for; empty for one that
    all share."""
    return tuple(key for key, learner in LEARNERS.items() if name in learner.uses)


def kind_of_score(score: str) -> str:
    """The kind of data that a score is for; raises ConfigError for an unknown score."""
    from fedbn.scores import SCORES

    return str(SCORES.find(score).kind)
