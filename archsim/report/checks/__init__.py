"""Outcomes of ``validate`` and ``verify``, as JSON and as a few lines."""
