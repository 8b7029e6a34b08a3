"""Pages and tables of tokens that were made one after another."""
