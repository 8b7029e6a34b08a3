"""What actions cost: energy for each action, area and leakage of each part, from technology tables.

Begin with ``part_prices`` (what a part of a chip costs) and ``account`` (the energy of a run).
"""
