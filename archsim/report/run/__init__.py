"""The report of a run: its summary, and that summary in the terminal, in Markdown, in HTML and in a notebook."""
