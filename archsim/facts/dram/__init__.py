"""DRAM as its standards define it: devices, timing constraints, address maps; ``standards`` has one file for each."""
