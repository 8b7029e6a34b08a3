"""Sweeps of chips over axes: the file, its points, the runner, the store of results, what they say."""
