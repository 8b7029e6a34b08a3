"""sim: see the module docstrings."""
