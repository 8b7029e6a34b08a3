"""What would change if: the run again with one part of the chip enlarged, or one choice of a mapping changed."""
