"""Which layers run as groups: what may be one, how its members run in a pass, and whether it is worth it."""
