"""Structures under record-level differential privacy: mechanisms, accounting, the ledger; and which
counts and sums tell of few rows."""
