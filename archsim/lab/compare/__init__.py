"""Runs side by side, and the parts that their differences consist of."""
