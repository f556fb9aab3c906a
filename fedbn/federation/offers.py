"""What a site lets a run choose: learner, score, its settings, tokens of missing cells, knowledge.

Every setting that a run may vary is a question that it may put to the table. So a run that asks for
anything else than [offers] of the site's file has is refused, with one word. A learner or score
that is not fedbn's own runs at a deployed site only if its file names it there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fedbn.errors import ConfigError
from fedbn.federation.policy import refusal
from fedbn.federation.runs import SiteRun
from fedbn.graphs.knowledge import is_text, read_knowledge
from fedbn.learners import LEARNERS, LearnerSettings, find_learner, kind_of_score
from fedbn.learners.table import users_of
from fedbn.registry import Registry
from fedbn.scores import SCORES


@dataclass(frozen=True)
class Offers:
    """The choices that a site offers; None where the run chooses freely.

    Attributes
    ----------
    learner, score, ess, row_weight, missing : what a run may choose among.
    max_parents, learner_seconds, memory_mb : the maximum, which a run without a limit gets.
    knowledge : path of the site's own background knowledge, which is kept besides the run's.
    run_knowledge : whether a run may bring knowledge of its own.
    """

    learner: tuple[str, ...] | None = None
    score: tuple[str, ...] | None = None
    ess: tuple[float, ...] | None = None
    row_weight: tuple[float, ...] | None = None
    missing: tuple[str, ...] | None = None
    max_parents: int | None = None
    learner_seconds: float | None = None
    memory_mb: float | None = None
    knowledge: Path | None = None
    run_knowledge: bool = True

    def __post_init__(self) -> None:
        for name in self.learner or ():
            find_learner(name)
        for score in self.score or ():
            kind_of_score(score)
        for ess in self.ess or ():
            LearnerSettings(ess=ess)
        for k in self.row_weight or ():
            LearnerSettings(row_weight=k)
        LearnerSettings(max_parents=self.max_parents, seconds=self.learner_seconds)
        if self.memory_mb is not None:
            LearnerSettings(memory_mb=self.memory_mb)

    def require_named(self, asked: LearnerSettings) -> None:
        """Raise PolicyError for code that is not fedbn's own and that this site does not name.
        Nothing of it is imported before: a run cannot make a deployed site load a package."""
        _require_named("learner", LEARNERS, asked.learner, self.learner)
        _require_named("score", SCORES, asked.score, self.score)

    def take_up(self, run: SiteRun, *, deployed: bool) -> LearnerSettings:
        """The run's learner as this site has it; raises PolicyError where the run asks for
        something that is not offered. Other people's runs, which reach a `deployed` site, name no
        file here."""
        asked = run.learner
        _require("learner", [asked.learner], self.learner)
        _require("score", [asked.score], self.score)
        if asked.score == "bdeu":
            _require("ess", [asked.ess], self.ess)
        _require("row-weight", asked.ladder, self.row_weight)
        _require("missing", run.tables.missing, self.missing)
        limits: dict[str, Any] = {
            "max_parents": _most("max-parents", asked.max_parents, self.max_parents),
            "seconds": _most("learner-seconds", asked.seconds, self.learner_seconds),
            "knowledge": self._knowledge(asked, deployed),
            **self._memory(asked),
        }
        return replace(asked, **limits)

    def _knowledge(self, asked: LearnerSettings, deployed: bool) -> str | None:
        """What the run and the site's own file say together. In a simulation alone the run may name
        a file. A learner that has no use for it learns without, and the server keeps the run's."""
        told, used = asked.knowledge, asked.learner in users_of("knowledge")
        if told is not None and is_text(told) and not self.run_knowledge:
            raise refusal("offers", "the run brings knowledge of its own")
        if self.knowledge is not None:
            if not used:
                words = f"the learner {asked.learner!r} has no use for this site's knowledge"
                raise refusal("offers", words)
            if told is None or not is_text(told):
                return str(self.knowledge)
            try:
                return read_knowledge(told).and_also(read_knowledge(self.knowledge)).text
            except ConfigError as error:
                words = f"this site's knowledge contradicts the run's: {error}"
                raise refusal("offers", words) from error
        if deployed and told is not None and not is_text(told):
            raise refusal("offers", "the run names a file of background knowledge at this site")
        return told if used else None

    def _memory(self, asked: LearnerSettings) -> dict[str, float | None]:
        usual = LearnerSettings().memory_mb
        wanted = None if asked.memory_mb == usual else asked.memory_mb
        stored = _most("memory-mb", wanted, self.memory_mb)
        found: dict[str, float | None] = {
            "memory_mb": asked.memory_mb if stored is None else min(stored, asked.memory_mb)
        }
        if asked.learner in users_of("search_memory_mb"):
            found["search_memory_mb"] = _most(
                "search-memory-mb", asked.search_memory_mb, self.memory_mb
            )
        return found


def _require_named(key: str, known: Registry[Any], asked: str, offered: Any) -> None:
    """Refuse code that is not fedbn's own unless the site's own file names it."""
    if not known.is_own(asked) and asked not in (offered or ()):
        raise refusal("offers", f"the {key} {asked!r} is a plug-in that this site does not name")


def _require(key: str, asked: Any, offered: tuple[Any, ...] | None) -> None:
    if offered is None:
        return
    for value in asked:
        if value not in offered:
            raise refusal("offers", f"the run asks for {key} {value!r}, not among {list(offered)}")


def _most(key: str, asked: float | None, offered: float | None) -> Any:
    """What is asked for, or the most that is offered where nothing is."""
    if offered is None:
        return asked
    if asked is not None and asked > offered:
        raise refusal("offers", f"the run asks for {key} {asked:g}, at most {offered:g} is offered")
    return offered if asked is None else asked
