"""What several commands of the lab share: options as typed, limits, tables for other programs."""
