"""Text forms of the nouns: YAML with a ``schema`` line. Dump and load are exact inverses.

    text = workload_to_yaml(workload)       # schema archsim.einsums/1
    workload_from_yaml(text) == workload
    mapping_to_yaml, mapping_from_yaml      # schema archsim.mapping/1
    mapping_to_text, mapping_file_from_text # the same, a line per level

Loading raises ConfigError with file:line:column and key path; the meaning is judged by ``archsim.ir.check``, of
workloads by ``checked_workload`` at once. Programs
have a text form of their own (``archsim.ir.asm``).
"""

from __future__ import annotations

from archsim.ir.forms.mapping import mapping_file_from_yaml, mapping_from_yaml, mapping_to_yaml
from archsim.ir.forms.mapping_text import mapping_file_from_text, mapping_to_text
from archsim.ir.forms.workload import checked_workload, workload_from_yaml, workload_to_yaml

__all__ = [
    "checked_workload",
    "mapping_file_from_text",
    "mapping_file_from_yaml",
    "mapping_from_yaml",
    "mapping_to_text",
    "mapping_to_yaml",
    "workload_from_yaml",
    "workload_to_yaml",
]
