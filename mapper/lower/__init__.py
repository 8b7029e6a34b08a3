"""Which commands carry a mapping out, in which queue and after which tokens: from LoopTrees to the Program."""
