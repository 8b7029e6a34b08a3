"""Compile a Workload for a chip: residency and one mapping per layer, then addresses and the Program."""

from __future__ import annotations

from archsim.base.errors import MappingError
from archsim.ir.workload import Workload
from archsim.spec.architecture import Architecture
from mapper.allocate.placement import PlaceError
from mapper.groups.ties import GroupError
from mapper.layers import Layers
from mapper.lower.model import Compiled, Lowering
from mapper.options import Options, check_objective, resolve_dtypes
from mapper.problem.formats import formatted

__all__ = ["Compiled", "Options", "compile_model", "formatted", "resolve_dtypes"]


def compile_model(workload: Workload, architecture: Architecture, options: Options | None = None) -> Compiled:
    """Map every layer, place every tensor, lower to a Program.

    Raises UnfitError before anything is searched when the chip cannot run the model, MappingError (tensor, level,
    needs, has) when a layer cannot be mapped, ConfigError for a wrong option.
    """
    options = options or Options()
    check_objective(options.objective)
    dtypes = resolve_dtypes(architecture, options.dtypes or {})
    workload = formatted(workload, architecture, options.dtypes or {})
    try:
        mapped = Layers(workload, architecture, dtypes, options).map()
        return Lowering(workload, architecture, dtypes, options, mapped.groups).lower(mapped)
    except GroupError as error:
        raise MappingError(f"{options.given.place(f'group {error.name}')}{error}") from None
    except PlaceError as error:
        raise MappingError(f"{options.given.place(f'placement {error.tensor}')}{error}") from None
