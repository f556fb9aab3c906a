"""A site's part in the making of cut points, before there is a contract.

What is answered, and what never, is said in `fedbn.federation.cut_rounds`.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from clients.local_data import local_numbers
from clients.request import Request
from fedbn.data.quantiles import Question, histogram
from fedbn.data.table_settings import TableSettings
from fedbn.federation.cut_rounds import answer_question, askable, rounds_beside
from fedbn.federation.histogram_message import histogram_to_text, kinds_to_text
from fedbn.federation.site_table import many_numbers, require_admitted, site_numbers

__all__ = ["askable_numbers", "histogram_text"]


def histogram_text(request: Request, question: Question | None) -> str:
    """The answer to a question of a round, or, without one, which columns hold numbers."""
    numbers = askable_numbers(request)
    if question is None:
        return kinds_to_text(many_numbers(numbers))
    if not request.deployed:
        return histogram_to_text(histogram(question, numbers))
    path, least = rounds_beside(request.log), request.site.policy.fewest_numbers
    return histogram_to_text(answer_question(path, question, numbers, least))


def askable_numbers(request: Request) -> Mapping[str, NDArray[np.float64]]:
    """Column -> its numbers, of those that may be asked for.

    The table is read as the site's own file says; in a simulation as the run wants it.
    """
    if not request.deployed:
        return local_numbers(request.run, request.context.node_config)
    require_admitted(request.path, TableSettings(), request.site)
    return askable(site_numbers(request.path, TableSettings(), request.site))
