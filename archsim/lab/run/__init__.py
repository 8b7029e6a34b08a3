"""One run: from a job to a compiled Program, its simulation, and the account of what happened.

Begin with ``job`` and ``run``.
"""
