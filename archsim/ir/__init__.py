"""ir: see the module docstrings."""
