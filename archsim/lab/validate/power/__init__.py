"""The suite ``power``: what published dies draw, idle and busy, by the tables that chips are priced by.

Begin with ``suite``.
"""
