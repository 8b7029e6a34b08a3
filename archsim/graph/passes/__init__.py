"""Passes: each file takes a graph and returns one; ``manager`` says in which order they run."""
