"""What holds of hardware whatever chip uses it: dataflows, DRAM standards, topologies, caches, collectives.

The chip file, the compiler and the machine read the same formulas here, so they cannot disagree. Begin with
``dataflows/fold.py``, ``dram/device.py`` or ``noc/topology.py``.
"""
