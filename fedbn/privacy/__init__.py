"""Structures under record-level differential privacy: mechanisms, accounting, the ledger."""
