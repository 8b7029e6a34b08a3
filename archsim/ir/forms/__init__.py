"""YAML text forms of Workload and ModelMapping (front: ``archsim.ir.text``)."""
