"""What reports share: numbers as people read them, tables of text, the terminal, causes with their colours, templates."""
