"""Workloads written by hand in YAML (``schema: archsim.workload/1``), layer by layer."""
