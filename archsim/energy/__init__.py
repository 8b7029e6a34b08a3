"""energy: see the module docstrings."""
