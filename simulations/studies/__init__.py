"""The studies: the tables of three papers repeated, and our own. A distribution of its own."""
