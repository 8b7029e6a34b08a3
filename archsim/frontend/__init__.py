"""Models from files: ONNX, workload YAML, SCALE-Sim tables; and files of other tools (``foreign``) as files of archsim.

Begin with ``load``, which chooses the reader.
"""
