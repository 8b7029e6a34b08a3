"""Mappings that spread reductions over the cores of a chip, stated so that no search has to choose them."""

from __future__ import annotations

import random

from archsim.base.errors import MappingError
from archsim.ir.mapping import LayerMapping
from archsim.ir.workload import Workload
from archsim.spec.architecture import Architecture
from mapper.layers import Layers
from mapper.options import Given, Options, resolve_dtypes
from mapper.problem.core_partition import cuttable, spread_of
from mapper.problem.problem import Problem


def with_reductions(workload: Workload, chip: Architecture, options: Options, seed: int) -> Options:
    """The options with mappings of all layers that the array runs and whose reductions can be cut and fit."""
    draw = random.Random(seed)
    layers = Layers(workload, chip, resolve_dtypes(chip, options.dtypes or {}), options)
    residency = layers.residency(frozenset())
    found: dict[str, LayerMapping] = {}
    for index, layer in enumerate(workload.layers):
        if layer.kind != "matmul":
            continue
        problem = layers.problem(index, residency, "array")
        loops = _loops(problem, chip, draw)
        if not loops:
            continue
        part = problem.of_core(spread_of(problem, chip, loops))
        try:
            found[layer.name] = layers.solver.solve(part)
        except MappingError:
            continue
    return Options(objective=options.objective, random=options.random, given=Given(layers=found))


def stated(workload: Workload, chip: Architecture, layer: str, loops: tuple[tuple[str, int], ...]) -> LayerMapping:
    """The best mapping of a layer that is spread over cores by (dim, tile)."""
    layers = Layers(workload, chip, resolve_dtypes(chip, {}), Options())
    index = [each.name for each in workload.layers].index(layer)
    problem = layers.problem(index, layers.residency(frozenset()), "array")
    return layers.solver.solve(problem.of_core(spread_of(problem, chip, loops)))


def _loops(problem: Problem, chip: Architecture, draw: random.Random) -> list[tuple[str, int]]:
    """Parts of random dims, at least one of the reduction, for no more cores than there are; [] where none is cut."""
    assert chip.noc is not None
    dims, left = cuttable(problem, chip), chip.noc.cores
    sums = [dim for dim in dims if dim in problem.groups["K"]]
    if not sums or left < 2:
        return []
    first = draw.choice(sums)
    others = draw.sample([dim for dim in dims if dim != first], min(len(dims) - 1, draw.randrange(3)))
    tiles: dict[str, int] = {}
    for dim in (first, *others):
        extent = problem.layer.dims[dim]
        parts = min(draw.randint(2, left) if dim == first else draw.randint(1, left), extent)
        tile = -(-extent // parts)
        if tile < extent:
            tiles[dim] = tile
            left //= -(-extent // tile)
    return [(dim, tiles[dim]) for dim in dims if dim in tiles]
