"""Every LoopTree of a space, one by one, counted by rules that are written anew; begin with ``exhaustive``."""
