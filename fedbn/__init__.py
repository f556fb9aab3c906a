"""fedbn: federated learning of Bayesian-network structure.

The library itself (structures, scores, search, fusion, consensus) knows nothing of Flower;
the apps in `clients` and `server` carry its messages. Importing it compiles nothing.
"""

__version__ = "0.1.0"
