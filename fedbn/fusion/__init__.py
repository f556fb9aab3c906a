"""Fusion of DAGs: order heuristic, minimal directed I-maps, their union, and the baselines."""
