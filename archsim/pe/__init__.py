"""The computing engines of a core as parts of the machine: PE arrays and vector units. Begin with ``array``."""
