"""Operators: one file for each family, found by the operators that it serves (``kit.catalogue``).

A file says which shapes come out, what is computed (in NumPy), and which layers or views do it. Begin with
``kit/family.py``, which lists what a family declares, and ``softmax.py`` as an example.
"""
