"""The command `fedbn`: what can be typed. What is done then is in `simulations/commands`."""

from __future__ import annotations

from simulations.cli.app import app, main

__all__ = ["app", "main"]
