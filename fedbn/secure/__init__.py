"""Secure sums: MCBNC for a server that sees sums over the sites and no site's DAG."""
