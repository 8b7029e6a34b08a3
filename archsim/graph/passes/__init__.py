"""Passes: each file takes a graph and returns one; ``infer`` is the first, ``fuse`` the last."""
