"""Memories and the engines that move bytes between them: on-chip memories with ports and banks, DMA engines, DRAM.

Begin with ``scratchpad`` (on-chip memories), ``dma`` (moves) and ``dram/interface.py`` (what a DRAM model is).
"""
