"""Races against the rivals of 2023 to 2026 (docs/studies/rivals.md)."""
