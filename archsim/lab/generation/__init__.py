"""Tokens one after another: the prompt and the steps behind it, run on one chip."""
