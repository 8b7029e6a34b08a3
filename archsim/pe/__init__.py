"""pe: see the module docstrings."""
