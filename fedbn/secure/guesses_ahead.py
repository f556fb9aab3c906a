"""How far the server may guess ahead in one request; alone here, for settings to name the bound."""

MAX_CHAIN = 16
"""Longest chain of predicted choices in one request."""
