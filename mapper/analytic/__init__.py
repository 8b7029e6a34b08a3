"""What a whole model takes, without a Program: expected cycles of its layers and counts of their actions."""
