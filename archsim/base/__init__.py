"""What every room may use and what knows nothing of chips: errors, units, caches, compiled code, files that are whole.

Begin with ``errors`` (the tree of exceptions), ``units`` (quantities), ``registry`` (extensions by name) and ``jit``
(compiled functions).
"""
