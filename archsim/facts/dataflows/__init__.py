"""Dataflows: what stays in the PEs of an array. One pure file each, found by its name (see ``catalogue``)."""
