"""The report of a comparison of runs: rows, page and terminal."""
