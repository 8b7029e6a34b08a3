"""dram."""
