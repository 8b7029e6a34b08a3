"""Mappings that are stated instead of searched: their checks and their cost."""
