"""Searches for LoopTrees, a file each; all look for the best of one stated space."""
