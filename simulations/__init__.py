"""Simulated studies, benchmarks and the command `fedbn`."""
