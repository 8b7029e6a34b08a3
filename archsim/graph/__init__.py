"""From the graph of a model to a Workload, and to numbers.

``passes`` change a graph into a graph; ``lowering`` makes layers with affine loops of it; ``numeric`` computes what the
model computes. Begin with ``lowering/lower.py``.
"""
