"""In which pair of number formats an array computes each layer of a job: what its MACs are priced at."""

from __future__ import annotations

from collections.abc import Mapping

from archsim.ir.columns import ProgramColumns
from archsim.lab.run.job import BuiltJob
from mapper.problem.formats import engine_pair


def computed_pairs(built: BuiltJob) -> Mapping[str, tuple[str, str]]:
    """Layer -> formats of inputs and weights: those of its commands in a Program as text, else of what it is mapped to,
    which holds for blocks of layers too that the Program does without."""
    if built.workload is None or built.mapping is None:
        commands = [command for command in ProgramColumns(built.program).commands if command.op == "MATMUL"]
        return {command.layer: (command.dtypes[0], command.dtypes[1]) for command in commands}
    arrays = {array.name for array in built.architecture.arrays}
    mapped = {layer.layer for layer in built.mapping.layers if layer.kind == "matmul" and layer.unit in arrays}
    return {
        layer.name: engine_pair(layer, built.workload, built.architecture, built.mapping.dtypes)
        for layer in built.workload.layers
        if layer.name in mapped
    }
