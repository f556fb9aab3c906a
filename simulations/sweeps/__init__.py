"""Sweeps: one simulation for every case of a grid or list of settings, each once."""
