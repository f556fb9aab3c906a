"""Histograms on the wire: they come back as they went, and nothing else is believed."""

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
from fedbn.wire.texts import canonical

LIMITS = Limits()


def test_all_rounds_over_text() -> None:
    values = np.random.default_rng(0).normal(size=200)
    state = Selection({"x": 3})
    while not state.done:
        question = question_from_text(question_to_text(state.question()))
        assert question == state.question()
        answer = histogram(question, {"x": values})
        text = histogram_to_text(answer)
        assert histogram_from_text(text, question, LIMITS) == answer
        state = state.after(answer)
    assert len(state.cuts()["x"]) == 2
    assert question_from_text(question_to_text(None)) is None
    assert kinds_from_text(kinds_to_text({"b": True, "a": False}), LIMITS) == {
        "a": False,
        "b": True,
    }


BAD_QUESTIONS = {
    "[]": "must be a JSON object",
    "{": "must be JSON",
    "[" * 100_000: "must be JSON",
    '{"round":0}': "version of question for histograms must be 2, not 1",
    '{"version":3}': "must be 2, not 3",
    '{"version":true}': "must be 2, not True",
    '{"round":1,"version":2}': "an object with prefixes, round is expected",
    '{"prefixes":null,"round":1,"version":2}': "must have prefixes",
    '{"prefixes":null,"round":true,"version":2}': "a whole number from 0 to 2.62 - 1 is expected",
    '{"prefixes":{"x":[0]},"round":4,"version":2}': "round must be 1 to 3, not 4",
    '{"prefixes":{"x":[5000]},"round":2,"version":2}': "must ascend below 4096",
    '{"prefixes":{"x":[true]},"round":1,"version":2}': "a list of whole numbers is expected",
    '{"prefixes":{"x":[2,1]},"round":2,"version":2}': "must ascend",
    '{"round":0,"prefixes":null,"version":2}': "canonical form",
}


@pytest.mark.parametrize("text", BAD_QUESTIONS)
def test_bad_questions_are_refused(text: str) -> None:
    with pytest.raises(MessageError, match=f".*{BAD_QUESTIONS[text]}"):
        question_from_text(text)
    with pytest.raises(MessageError, match=".* must be a text of at most"):
        question_from_text(3)


PAIRS = "pairs of a bucket asked for and a count above 0"
BAD_HISTOGRAMS = [
    ({}, "exactly the columns asked for"),
    ({"x": [[7, 1]], "y": []}, "exactly the columns asked for"),
    ({"x": [[7, 0]]}, PAIRS),
    ({"x": [[7, -1]]}, "a whole number"),
    ({"x": [[7, 1.0]]}, "a whole number"),
    ({"x": [[7, True]]}, "a whole number"),
    ({"x": [[4096, 1]]}, PAIRS),
    ({"x": [[7, 1, 1]]}, "a list of 2 values"),
    ({"x": [[8, 1], [7, 1]]}, "must ascend"),
    ({"x": [[7, 1], [7, 1]]}, "must ascend"),
    ({"x": [[7, 2**62]]}, "a whole number"),
    ({"x": {"7": 1}}, "a list is expected"),
]


@pytest.mark.parametrize(("columns", "reason"), BAD_HISTOGRAMS)
def test_bad_histograms_are_refused(columns: object, reason: str) -> None:
    question = Selection({"x": 3}).question()
    text = canonical({"columns": columns, "version": 2})
    with pytest.raises(MessageError, match=f".*{reason}"):
        histogram_from_text(text, question, LIMITS)
    with pytest.raises(MessageError, match=".* at most 3 characters"):
        histogram_from_text(text, question, Limits(max_bytes=3))
