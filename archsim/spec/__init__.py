"""spec: see the module docstrings."""
