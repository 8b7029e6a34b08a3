"""Topologies with their routes and what can block: one file each in ``topologies``, found by its name in ``catalogue``."""
