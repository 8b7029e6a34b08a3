"""Descriptions of other tools, read as data: Timeloop, AccelForge, ZigZag and SCALE-Sim to chip and workload YAML.

A reader (``timeloop``, ``accelforge``, ``zigzag``, ``scalesim``) makes of a file a neutral ``design`` of a chip or
``work`` of layers, and enters every key of the file in the ``ledger``: read, ignored or refused. ``chip`` and
``workload`` write them in archsim's grammars; what they had to assume stands in the ledger too.
"""
