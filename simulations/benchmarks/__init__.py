"""Benchmarks: commands to run by hand, never timed tests."""
