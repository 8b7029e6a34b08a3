"""From the canonical graph to a Workload: memory order, placement, views, and layers with affine axes."""
