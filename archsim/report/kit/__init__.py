"""What reports share: numbers for people, tables of text, the terminal, causes with their colours, templates."""
