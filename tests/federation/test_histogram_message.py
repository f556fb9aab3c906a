"""Histograms on the wire: they come back as they went, and nothing else is believed."""

import json

import numpy as np
import pytest

from fedbn.data.quantiles import Selection, histogram
from fedbn.errors import MessageError
from fedbn.federation.histogram_message import (
    histogram_from_text,
    histogram_to_text,
    kinds_from_text,
    kinds_to_text,
    question_from_text,
    question_to_text,
)
from fedbn.federation.reply_limits import Limits

LIMITS = Limits()


def test_all_rounds_over_text() -> None:
    values = np.random.default_rng(0).normal(size=200)
    state = Selection({"x": 3})
    while not state.done:
        question = question_from_text(question_to_text(state.question()))
        assert question == state.question()
        answer = histogram(question, {"x": values})
        text = histogram_to_text(answer)
        assert histogram_from_text(text, question, LIMITS, sender="a") == answer
        state = state.after(answer)
    assert len(state.cuts()["x"]) == 2
    assert question_from_text(question_to_text(None)) is None
    assert kinds_from_text(kinds_to_text({"b": True, "a": False}), LIMITS, sender="a") == {
        "a": False,
        "b": True,
    }


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "{",
        3,
        '{"round": 1}',
        '{"round": 4, "prefixes": {"x": [0]}}',
        '{"round": 2, "prefixes": {"x": [5000]}}',
        '{"round": 1, "prefixes": {"x": [true]}}',
        '{"round": 2, "prefixes": {"x": [2, 1]}}',
    ],
)
def test_bad_questions_are_refused(text: object) -> None:
    with pytest.raises(MessageError, match="^server: "):
        question_from_text(text)


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"x": [[7, 1]], "y": []},
        {"x": [[7, 0]]},
        {"x": [[7, -1]]},
        {"x": [[7, 1.0]]},
        {"x": [[7, True]]},
        {"x": [[4096, 1]]},
        {"x": [[8, 1], [7, 1]]},
        {"x": [[7, 1], [7, 1]]},
        {"x": [[7, 2**62]]},
        {"x": {"7": 1}},
    ],
)
def test_bad_histograms_are_refused(content: object) -> None:
    question = Selection({"x": 3}).question()
    with pytest.raises(MessageError, match="^north: "):
        histogram_from_text(json.dumps(content), question, LIMITS, sender="north")
    with pytest.raises(MessageError, match="^north: .* at most 3 characters"):
        histogram_from_text('{"x": []}', question, Limits(max_bytes=3), sender="north")
