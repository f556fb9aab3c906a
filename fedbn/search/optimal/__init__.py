"""Structures of proven best score, and the exact tools that the credible sets share with them."""

from fedbn.search.optimal.learn import METHODS, OptimalResult, learn_optimal

__all__ = ["METHODS", "OptimalResult", "learn_optimal"]
