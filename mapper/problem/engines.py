"""The engines that can run a layer."""

from __future__ import annotations

from collections.abc import Mapping

from archsim.ir.workload import Layer, Workload
from archsim.spec.architecture import Architecture
from mapper.problem.formats import is_converted


def engines_of_layer(
    layer: Layer, workload: Workload, architecture: Architecture, dtypes: Mapping[str, str]
) -> list[str]:
    """array | vector | copy, the one first that is made for such layers; a product that no part can do is the array's,
    which is then found missing."""
    if layer.kind in ("copy", "vector"):
        return [layer.kind]
    if is_converted(layer, workload, architecture, dtypes):
        return ["array"]
    engines = [("array", architecture.arrays), ("vector", architecture.vectors)]
    return [engine for engine, parts in engines if parts] or ["array"]
