"""search: see the module docstrings."""
