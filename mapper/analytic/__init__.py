"""A whole model without a Program: expected cycles of its layers, and the counts of their actions."""
