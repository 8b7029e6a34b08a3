"""The host as a part of the machine: launches of Programs, and layers that run there. Begin with ``runtime``."""
