"""Settings of plug-ins as keys of their own: `pc-alpha` is the setting `alpha` of the learner `pc`.

A run config carries them in `learner-settings` and `fusion-settings`; files of settings and options
may say them one by one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any

from fedbn.errors import ConfigError
from fedbn.federation.settings import ConsensusSettings, Experiment
from fedbn.learners import LEARNERS, LearnerSettings, learner_for
from fedbn.own_settings import own_settings, own_texts, own_values, with_own
from fedbn.registry import Registry
from fedbn.setting import Setting, Settings

Said = tuple[tuple[str, type, Any], ...]


@dataclass(frozen=True)
class _Kind:
    """A kind of plug-in that has settings: its registry, who names it, who carries its settings."""

    registry: Registry[Any]
    key: str
    carrier: str
    base: type[Settings]


def _kinds() -> Iterator[_Kind]:
    """All kinds; the second loads fusion and consensus, which a learning site has no use for."""
    yield _Kind(LEARNERS, "learner", "learner-settings", LearnerSettings)
    from fedbn.federation.fusions import FUSIONS

    yield _Kind(FUSIONS, "fusion", "fusion-settings", ConsensusSettings)


def plugin_settings(of: str) -> Iterator[tuple[str, str, Setting]]:
    """(what it is of, key, setting) of every setting that plug-ins of a kind, `learner` or
    `fusion`, have of their own. Loads all that are installed; raises PluginError for one that
    cannot be loaded."""
    kind = next(kind for kind in _kinds() if kind.key == of)
    for name in kind.registry.names():
        if not kind.registry.is_own(name):
            for each in own_settings(kind.registry[name].own, kind.base):
                yield f"{kind.registry.kind} {name}", f"{name}-{each.key}", each


def with_plugin_settings(said: Said, known: Collection[str]) -> Said:
    """(key, type, value) of a flat config, with keys of plug-ins in the settings that carry them;
    raises ConfigError where a key is for a learner or a fusion that the run does not use."""
    if all(key in known for key, _, _ in said):
        return said
    flat = {key: value for key, _, value in said}
    kept: list[tuple[str, type, Any]] = []
    carried: dict[str, list[str]] = {}
    for key, kind_of, value in said:
        found = None if key in known else _plugin_of(key)
        if found is None:
            kept.append((key, kind_of, value))
            continue
        kind, name = found
        used = flat.get(kind.key, getattr(kind.base(), kind.key))
        if used != name:
            raise ConfigError(f"{key} is for the {kind.registry.kind} {name!r}, not for {used!r}")
        carried.setdefault(kind.carrier, []).extend(own_texts({key[len(name) + 1 :]: value}))
    for carrier, texts in carried.items():
        if carrier in flat and flat[carrier] not in ("none", ()):
            raise ConfigError(f"give {carrier} or single settings, not both")
        kept = [entry for entry in kept if entry[0] != carrier]
        kept.append((carrier, tuple, tuple(texts)))
    return tuple(kept)


def with_all_own(experiment: Experiment) -> Experiment:
    """The experiment with the values of all own settings of its plug-ins, defaults too."""
    learner, rule = experiment.learner, experiment.consensus
    changes: dict[str, Any] = {}
    chosen = learner_for(replace(learner, knowledge=None))  # which the server keeps, too
    if chosen.own is not LearnerSettings:
        of = LEARNERS.describe(learner.learner)
        whole = with_own(learner, chosen.own, LearnerSettings, learner.own, of)
        changes["learner_settings"] = own_texts(own_values(whole, LearnerSettings))
    if rule.fusion == ConsensusSettings.fusion and not rule.own:
        return experiment.change(**changes)
    from fedbn.federation.fusions import require_fusion

    fusion, told = require_fusion(rule)
    if fusion.own is not ConsensusSettings:
        changes["fusion_settings"] = own_texts(own_values(told, ConsensusSettings))
    return experiment.change(**changes)


def _plugin_of(key: str) -> tuple[_Kind, str] | None:
    """The plug-in whose setting this is, the longest name first."""
    for kind in _kinds():
        for name in sorted(kind.registry.names(), key=len, reverse=True):
            if key.startswith(f"{name}-") and not kind.registry.is_own(name):
                return kind, name
    return None
