"""DRAM models at three fidelities: exact (command by command), fast (rates measured on the exact one), constant rate.

Begin with ``interface``, then ``controller``; its inner loop is in ``compiled``.
"""
