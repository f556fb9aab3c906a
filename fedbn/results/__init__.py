"""A finished fusion as tables, files and figures."""
