"""Which mapping a layer gets: the space of its mappings, searches of it that are found by name, and what is kept."""
