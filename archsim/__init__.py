"""ARCHSIM: from a model and a chip in YAML to cycles, watts, mm2, with every lost cycle explained.

    import archsim as ax

    chip = ax.load_chip("edge_npu")
    model = ax.load_model("resnet50", batch=4)
    result = ax.run(model, on=chip, objective="edp")
    result.layers, result.stalls, result.energy        # DataFrames
    result.plot_roofline()
    result.save("out/")                                 # summary.json, report.html, ...
    ax.generate("llama3_8b:generate", on="mtia_v2i", dtype="int8", parameters={"prompt": 512, "tokens": 64}).table
    ax.run_scenario("ar_glasses", on="ar_soc").streams  # several models at their own rates

Names are imported when first used.
"""

from typing import TYPE_CHECKING

import lazy_loader

from archsim.base import bytecode
from archsim.base.version import __version__ as __version__

bytecode.keep()  # before the other files are loaded

__all__ = [
    "ArchsimError",
    "Architecture",
    "ConfigError",
    "GenerationRun",
    "MappingError",
    "ModelError",
    "NotBuiltError",
    "ProgramError",
    "Result",
    "RunResult",
    "ScenarioRun",
    "SimulationError",
    "Workload",
    "compare",
    "from_torch",
    "generate",
    "list_chips",
    "list_models",
    "list_scenarios",
    "load_chip",
    "load_model",
    "run",
    "run_scenario",
    "sweep",
]

_ERRORS = [name for name in __all__ if name.endswith("Error")]
_FUNCTIONS = [name for name in __all__ if name[0].islower()]
__getattr__, __dir__, _ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "base.errors": _ERRORS,
        "lab.api": _FUNCTIONS,
        "lab.generation.run": ["GenerationRun"],
        "lab.run.run": ["RunResult"],
        "lab.scenario.run": ["ScenarioRun"],
        "spec.architecture": ["Architecture"],
        "ir.workload": ["Workload"],
        "ir.result": ["Result"],
    },
)

if TYPE_CHECKING:
    from archsim.base.errors import (
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
    from archsim.lab.api import (
        compare,
        from_torch,
        generate,
        list_chips,
        list_models,
        list_scenarios,
        load_chip,
        load_model,
        run,
        run_scenario,
        sweep,
    )
    from archsim.lab.generation.run import GenerationRun
    from archsim.lab.run.run import RunResult
    from archsim.lab.scenario.run import ScenarioRun
    from archsim.spec.architecture import Architecture
