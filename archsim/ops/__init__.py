"""ops: see the module docstrings."""
