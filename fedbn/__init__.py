"""fedbn: federated learning of Bayesian-network structure.

    import fedbn as fb

    table = fb.read_table("patients.csv")
    learned = fb.learn(table, "xges")

The names of `__all__` are loaded when they are first used, so that importing fedbn is fast and
compiles nothing. The library knows nothing of Flower; the apps in `clients` and `server` carry its
messages.
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fedbn.api.credible import Credible, credible_set
    from fedbn.api.fusing import Fused, fuse
    from fedbn.api.learning import Learned, learn
    from fedbn.api.plugins import register_fusion, register_learner, register_score
    from fedbn.api.reading import read_results
    from fedbn.api.simulation import Simulated, simulate
    from fedbn.data.preparation import Preparation
    from fedbn.data.schema import Schema
    from fedbn.data.table import Table, read_table
    from fedbn.errors import FedbnError
    from fedbn.federation.settings import ConsensusSettings
    from fedbn.graphs.dag import DAG
    from fedbn.graphs.distances import shd, smhd
    from fedbn.graphs.pdag import PDAG
    from fedbn.inference.averaging import average_query
    from fedbn.inference.conditional import query_conditional
    from fedbn.inference.gaussian import query_gaussian
    from fedbn.inference.interventions import query_do, range_over_class
    from fedbn.inference.queries import most_probable, query
    from fedbn.learners.settings import LearnerSettings
    from fedbn.networks.catalog import load_network

__version__ = "0.2.0"

__all__ = [
    "DAG",
    "PDAG",
    "ConsensusSettings",
    "Credible",
    "FedbnError",
    "Fused",
    "Learned",
    "LearnerSettings",
    "Preparation",
    "Schema",
    "Simulated",
    "Table",
    "__version__",
    "average_query",
    "credible_set",
    "fuse",
    "learn",
    "load_network",
    "most_probable",
    "query",
    "query_conditional",
    "query_do",
    "query_gaussian",
    "range_over_class",
    "read_results",
    "read_table",
    "register_fusion",
    "register_learner",
    "register_score",
    "shd",
    "simulate",
    "smhd",
]

_HOMES = {
    "Credible": "api.credible",
    "credible_set": "api.credible",
    "Fused": "api.fusing",
    "fuse": "api.fusing",
    "Learned": "api.learning",
    "learn": "api.learning",
    "read_results": "api.reading",
    "register_fusion": "api.plugins",
    "register_learner": "api.plugins",
    "register_score": "api.plugins",
    "Simulated": "api.simulation",
    "simulate": "api.simulation",
    "Table": "data.table",
    "read_table": "data.table",
    "Preparation": "data.preparation",
    "Schema": "data.schema",
    "FedbnError": "errors",
    "ConsensusSettings": "federation.settings",
    "LearnerSettings": "learners.settings",
    "DAG": "graphs.dag",
    "PDAG": "graphs.pdag",
    "shd": "graphs.distances",
    "smhd": "graphs.distances",
    "load_network": "networks.catalog",
    "average_query": "inference.averaging",
    "most_probable": "inference.queries",
    "query": "inference.queries",
    "query_do": "inference.interventions",
    "query_conditional": "inference.conditional",
    "query_gaussian": "inference.gaussian",
    "range_over_class": "inference.interventions",
}
"""Public name -> the module that has it."""


def __getattr__(name: str) -> Any:
    """The public name, from its module."""
    if name not in _HOMES:
        raise AttributeError(f"module 'fedbn' has no attribute {name!r}")
    found = getattr(import_module(f"fedbn.{_HOMES[name]}"), name)
    globals()[name] = found
    return found


if "IPython" in sys.modules:  # then a notebook may want structures as drawings
    import_module("fedbn.api.notebook").show_structures()


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
