"""The federated method: what travels, who agrees, what a site permits, what a round does."""
