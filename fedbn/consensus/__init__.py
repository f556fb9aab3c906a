"""The consensus of DAGs by greedy min-cut analysis: the path over θ and the choice on it."""
