"""What each ATen operator is in the neutral graph: a file for each kind, with ``RULES`` by the operator's name."""
