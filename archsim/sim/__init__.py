"""What a simulation runs on: the event loop, clocks, tokens, in-order queues, and who held whom up.

Begin with ``events`` (simulated time), ``queue`` (how commands run) and ``blame`` (where cycles went). Only this room
imports SimPy.
"""
