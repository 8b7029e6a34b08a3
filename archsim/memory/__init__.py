"""memory: see the module docstrings."""
