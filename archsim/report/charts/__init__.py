"""Charts as SVG text, one file each; every function takes parts of the summary and returns one drawing."""
