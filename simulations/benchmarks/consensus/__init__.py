"""Speed and quality of the consensus: `python -m simulations.benchmarks.consensus --help`."""
