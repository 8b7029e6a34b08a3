"""Chip files: the grammar, the rules between keys, and the resolved chip (``architecture``) that all other rooms read.

Begin with ``load`` (from a name or a file to an Architecture) and ``schema`` (every key that a chip may have).
"""
