"""DRAM standards, one file each; a file's name is the name users write."""
