"""The tables of "Learning All Credible Bayesian Network Structures for Model Averaging"."""
