"""Oracles: second ways to an answer that tests compare the product's with. The product reaches none of them.

``brute_force`` enumerates every LoopTree of a space and counts by rules of its own, which share no code with those of
the mapper. ``sampling`` searches the same spaces by chance (random, annealing, genetic): what these find is never
better than what is called optimal. ``by_rows`` walks the records of a run one by one for what the product works out in
columns. ``lowered`` reads the mapping of a compiled layer as a LoopTree, so that one cost model prices both. ``zigzag``
reads the best mappings that ZigZag recorded and prices them by our cost model.
"""
