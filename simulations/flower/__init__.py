"""Real Flower runs: the app as a bundle, Flower's processes, one run from start to end."""
