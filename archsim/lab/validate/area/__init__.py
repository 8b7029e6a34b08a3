"""The suite ``area``: what published dies come to, made of the structures that chips are made of.

Begin with ``suite``.
"""
