"""What an exhaustive search of LoopTrees is made of; its rules of counting are written anew, not taken from counts."""
