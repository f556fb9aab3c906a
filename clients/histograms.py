"""A site's part in the making of cut points, before there is a contract.

What is answered, and what never, is said in `fedbn.federation.cut_rounds`.
"""

from __future__ import annotations

from clients.local_data import local_numbers
from clients.request import Request
from fedbn.data.quantiles import Question, histogram
from fedbn.data.table_settings import TableSettings
from fedbn.federation.cut_rounds import answer_question, askable, rounds_beside
from fedbn.federation.histogram_message import histogram_to_text, kinds_to_text
from fedbn.federation.site_table import many_numbers, require_admitted, site_numbers

__all__ = ["histogram_text"]


def histogram_text(request: Request, question: Question | None) -> str:
    """The answer to a question of a round, or, without one, which columns hold numbers.

    The table is read as the site's own file says; in a simulation as the run wants it.
    """
    if not request.deployed:
        numbers = local_numbers(request.run, request.context.node_config)
        if question is None:
            return kinds_to_text(many_numbers(numbers))
        return histogram_to_text(histogram(question, numbers))
    table, site = request.path, request.site
    require_admitted(table, TableSettings(), site)
    numbers = askable(site_numbers(table, TableSettings(), site))
    if question is None:
        return kinds_to_text(many_numbers(numbers))
    least = max(site.policy.rule.least, site.policy.min_state_rows)
    return histogram_to_text(answer_question(rounds_beside(request.log), question, numbers, least))
