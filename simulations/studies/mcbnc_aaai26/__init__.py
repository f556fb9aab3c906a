"""Reproduction of the MCBNC paper: `fedbn reproduce mcbnc`."""
