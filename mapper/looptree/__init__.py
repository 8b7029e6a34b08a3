"""LoopTrees on any hierarchy of memories and fan-outs: exact action counts, energy, latency, and their text forms.

Its search finds the best one with a proof, and so the least that any mapping of a layer can take.
"""
