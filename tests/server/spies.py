"""Sites that tell sums, and the server that asks for them, as tests look at them or change them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import clients.secure_sums as site
import server.secure_sums as server
from fedbn.errors import PolicyError
from tests.server.test_secure_sums import reachable

FOR_PARAMETERS = ("own_place", "own_equations", "own_residuals")
"""The functions by which a site tells what parameters need."""


class Seen:
    """All that a server sees of a run, and what its sites would not tell.

    Attributes
    ----------
    own : what the sites tell by one of their functions, before the masks.
    requests, parts : the requests, and the masked answers to each.
    held : every array and all bytes that the server can reach.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, told_by: str) -> None:
        self.requests: list[bytes] = []
        self.parts: list[list[Any]] = []
        self.own: list[Any] = []
        self.held: list[bytes] = []
        tell, ask, masked = getattr(site, told_by), server.Cohort.ask, server.ask_masked

        def told(*given: Any) -> Any:
            self.own.append(tell(*given))
            return self.own[-1]

        def asked(of: Any, category: str, contents: Any) -> Any:
            answers = ask(of, category, contents)
            self.hold(contents, answers, of.clients, of.seconds)
            return answers

        def kept(of: Any, data: bytes, terms: Any) -> Any:
            self.requests.append(data)
            self.parts.append(masked(of, data, terms))
            return self.parts[-1]

        monkeypatch.setattr(site, told_by, told)
        monkeypatch.setattr(server.Cohort, "ask", asked)
        monkeypatch.setattr(server, "ask_masked", kept)

    def hold(self, *things: Any) -> None:
        """The server holds these."""
        found = reachable(list(things))
        self.held += [each.tobytes() for each in found if isinstance(each, np.ndarray)]
        self.held += [each for each in found if isinstance(each, bytes)]


def fall_silent(monkeypatch: pytest.MonkeyPatch, told_by: Sequence[str], answers: int) -> None:
    """After so many answers by these functions no site tells any more."""
    asked: list[Any] = []

    def until_then(honest: Callable[..., Any]) -> Callable[..., Any]:
        def told(*given: Any) -> Any:
            asked.append(given[0])
            if len(asked) > answers:
                raise PolicyError("counts", "no more")
            return honest(*given)

        return told

    for name in told_by:
        monkeypatch.setattr(site, name, until_then(getattr(site, name)))


def lie(monkeypatch: pytest.MonkeyPatch, told_by: Sequence[str], at: int, *, short: bool) -> None:
    """One answer by these functions, the `at`-th, is too short, or sums that no sites have."""
    asked: list[Any] = []

    def but_once(honest: Callable[..., Any]) -> Callable[..., Any]:
        def told(*given: Any) -> Any:
            asked.append(honest(*given))
            if len(asked) != at:
                return asked[-1]
            return asked[-1][:-1] if short else asked[-1] + 2**58

        return told

    for name in told_by:
        monkeypatch.setattr(site, name, but_once(getattr(site, name)))
