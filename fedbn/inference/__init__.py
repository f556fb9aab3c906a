"""Questions to a network with parameters: exact answers, one network or several weighted ones."""

from fedbn.inference.averaging import average_query
from fedbn.inference.gaussian import GaussianAnswer, average_gaussian, query_gaussian
from fedbn.inference.queries import Answer, Explanation, most_probable, query

__all__ = [
    "Answer",
    "Explanation",
    "GaussianAnswer",
    "average_gaussian",
    "average_query",
    "most_probable",
    "query",
    "query_gaussian",
]
