"""The report of a network that ran alone."""
