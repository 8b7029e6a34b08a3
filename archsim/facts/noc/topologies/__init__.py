"""One file for each topology; ``build(shape, link_delay_cycles)`` makes it."""
