"""The nouns that rooms hand to each other: graph, Workload, mapping, Program, activity and result; and their checkers.

Begin with ``workload`` (layers as loops), ``mapping`` (LoopTrees) and ``program`` (what the machine runs).
"""
