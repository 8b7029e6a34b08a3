"""ARCHSIM: from a model and a chip in YAML to cycles, watts, mm2, with every lost cycle explained."""
