"""hazards."""
