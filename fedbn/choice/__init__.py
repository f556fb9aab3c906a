"""Choosing a consensus: row-weight classes, their candidates, and what may judge them."""
