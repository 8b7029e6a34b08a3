"""Scenarios: several models at their own rates on one chip, from the file to the power that they take on average."""
