"""The Flower server app: decodes replies, calls `fedbn.rounds`, writes the results."""
