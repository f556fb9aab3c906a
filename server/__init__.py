"""The Flower server app: decodes replies, calls `fedbn.federation.rounds`, writes the results."""
