"""Lowering: from LoopTrees and placements to the Program."""
