"""Bayesian networks to sample from: embedded, read from files, or drawn at random."""
