"""The command `fedbn`: its options and help are here, what it does is in `simulations/commands`."""

from __future__ import annotations

from simulations.cli.app import app, main

__all__ = ["app", "main"]
