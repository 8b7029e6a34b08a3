"""ARCHSIM: from a model and a chip in YAML to cycles, watts, mm2, with every lost cycle explained.

    import archsim as ax

    chip = ax.load_chip("edge_npu")
    model = ax.load_model("resnet50", batch=4)
    result = ax.run(model, on=chip, objective="edp")
    result.layers, result.stalls, result.energy        # DataFrames
    result.plot_roofline()
    result.save("out/")                                 # summary.json, report.html, ...

Names are imported when first used.
"""

from typing import TYPE_CHECKING

import lazy_loader

__version__ = "0.1.0"

__all__ = [
    "ArchsimError",
    "Architecture",
    "ConfigError",
    "MappingError",
    "ModelError",
    "NotBuiltError",
    "ProgramError",
    "Result",
    "RunResult",
    "SimulationError",
    "Workload",
    "compare",
    "list_chips",
    "list_models",
    "load_chip",
    "load_model",
    "run",
    "sweep",
]

_ERRORS = [name for name in __all__ if name.endswith("Error")]
__getattr__, __dir__, _ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "errors": _ERRORS,
        "lab.front": ["compare", "list_chips", "list_models", "load_chip", "load_model", "run", "sweep"],
        "lab.run": ["RunResult"],
        "spec.architecture": ["Architecture"],
        "ir.workload": ["Workload"],
        "ir.result": ["Result"],
    },
)

if TYPE_CHECKING:
    from archsim.errors import (
        ArchsimError,
        ConfigError,
        MappingError,
        ModelError,
        NotBuiltError,
        ProgramError,
        SimulationError,
    )
    from archsim.ir.result import Result
    from archsim.ir.workload import Workload
    from archsim.lab.front import compare, list_chips, list_models, load_chip, load_model, run, sweep
    from archsim.lab.run import RunResult
    from archsim.spec.architecture import Architecture
