"""Design search: which points of a grid are worth a simulation; one file for each method."""
