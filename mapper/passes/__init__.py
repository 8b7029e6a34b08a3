"""passes: see the module docstrings."""
