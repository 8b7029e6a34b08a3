"""Checkers of the nouns: ``program.check`` (structure, tokens, hazards), ``workload``, ``mapping`` and ``sweep``."""
