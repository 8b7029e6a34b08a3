"""Validation suites: the machine's formulas and models against data measured elsewhere; a file per suite."""
