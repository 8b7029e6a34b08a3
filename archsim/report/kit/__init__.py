"""What reports share: the layout of a table and its renderers, numbers as people read them, the terminal, causes with
their colours, templates."""
