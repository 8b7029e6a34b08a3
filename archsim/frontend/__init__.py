"""frontend: see the module docstrings."""
