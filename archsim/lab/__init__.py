"""lab: see the module docstrings."""
