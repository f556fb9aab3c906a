"""CG-DCA: column generation whose pricing is a difference of submodular functions.

Yang & Chen, "Inexact Column Generation for Bayesian Network Structure Learning via
Difference-of-Submodular Optimization", 2025. `algorithm2` is its Algorithm 2.
"""

from fedbn.search.cg_dca.algorithm2 import CGDCAResult, learn_cg_dca

__all__ = ["CGDCAResult", "learn_cg_dca"]
