"""dram: see the module docstrings."""
