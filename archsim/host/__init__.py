"""host: see the module docstrings."""
