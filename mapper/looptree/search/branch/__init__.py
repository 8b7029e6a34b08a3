"""The parts of the optimal search: templates, their separable costs, tables of tilings, and joining them."""
