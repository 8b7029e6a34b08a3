"""Searches of LoopTrees that try points of a space by chance: ``random``, ``annealing``, ``genetic``.

Each has ``search(space, objective, budget, seed)``; ``tried`` costs points, ``point`` draws, moves and crosses them,
``grown`` makes the LoopTree of one.
"""
