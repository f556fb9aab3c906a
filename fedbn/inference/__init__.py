"""Questions to a network with parameters: exact answers, one network or several weighted ones."""

from fedbn.inference.averaging import average_query
from fedbn.inference.conditional import ConditionalAnswer, query_conditional
from fedbn.inference.gaussian import GaussianAnswer, average_gaussian, query_gaussian
from fedbn.inference.interventions import (
    EffectRange,
    effect_between,
    query_do,
    range_over_class,
    set_in,
)
from fedbn.inference.queries import Answer, Explanation, most_probable, query

__all__ = [
    "Answer",
    "ConditionalAnswer",
    "EffectRange",
    "Explanation",
    "GaussianAnswer",
    "average_gaussian",
    "average_query",
    "effect_between",
    "most_probable",
    "query",
    "query_conditional",
    "query_do",
    "query_gaussian",
    "range_over_class",
    "set_in",
]
