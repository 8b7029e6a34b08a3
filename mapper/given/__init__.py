"""Whether a mapping that a file states, or a cache has kept, is one of its problem, and what it costs."""
