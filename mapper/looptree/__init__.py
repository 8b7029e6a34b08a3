"""LoopTrees on any hierarchy of memories and fan-outs: exact action counts, energy, latency, and their text forms."""
