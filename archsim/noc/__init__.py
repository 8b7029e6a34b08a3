"""On-chip networks: topologies, routes, and the virtual-channel routers that packets of flits pass."""
