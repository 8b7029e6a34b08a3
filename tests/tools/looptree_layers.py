"""Random single matmul layers on small chips, compiled, beside what they are as LoopTrees."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import product
from math import prod

import numpy as np

from archsim.base.errors import MappingError
from archsim.energy.chip import mapped_energies
from archsim.facts.dataflows import catalogue
from archsim.ir.activity import Activity
from archsim.ir.workload import Axis, Workload
from archsim.lab.run.offchip import outer_rates
from archsim.spec.architecture import Architecture
from archsim.system import simulate
from mapper.compile import Compiled, Options, compile_model
from mapper.cost.chip_rates import ChipCosts
from mapper.looptree.chip import axis_dims, hierarchy_of, places
from mapper.looptree.conventions import ARCHSIM
from mapper.looptree.counts import counts
from mapper.looptree.einsum import span
from mapper.looptree.hierarchy import Hierarchy
from mapper.looptree.nest import Nest
from mapper.lower.frame import Frame
from mapper.options import Given
from tests.oracles.lowered import nest_of
from tests.tools.layers import Net, small_chip

_DEALT = "weight_stationary_units"  # in the way that ends first, of which no LoopTree tells
FLOWS = tuple(
    name for name in catalogue.names() if not catalogue.wants_windows(name) and name != _DEALT
)  # those with windows share along diagonals
STAGES = (
    (),
    (("l2", 1 << 12, ("inputs", "weights", "outputs")),),
    (("l2", 1 << 12, ("weights",)),),
    (("l2", 1 << 13, ("inputs", "outputs")),),
)
RATES = (Fraction(1), Fraction(1), Fraction(2), Fraction(1, 2), Fraction(3, 2))
WHOLE = replace(ARCHSIM, footprint=span)  # windows are moved from the first value to the last one
Bytes = dict[tuple[str, str], int]


@dataclass(frozen=True)
class Case:
    """A workload of one matmul layer without a bias, compiled for a chip, and simulated."""

    workload: Workload
    chip: Architecture
    compiled: Compiled

    @cached_property
    def costs(self) -> ChipCosts:
        return ChipCosts(self.chip, outer_rates(self.chip), mapped_energies(self.chip).pj)

    @property
    def dtypes(self) -> Mapping[str, str]:
        return self.compiled.mapping.dtypes

    @property
    def frame(self) -> Frame:
        frame = self.compiled.frames[0]
        assert frame is not None
        return frame

    @cached_property
    def activity(self) -> Activity:
        return simulate(self.compiled.program, self.chip)

    @property
    def cycles(self) -> float:
        return self.activity.total_ps * self.chip.clock_hz / 1e12

    @cached_property
    def nest(self) -> Nest:
        return nest_of(self.frame, self.costs, self.dtypes)

    @cached_property
    def hierarchy(self) -> Hierarchy:
        return hierarchy_of(self.frame.problem, self.costs, self.dtypes)

    @cached_property
    def flat(self) -> bool:
        """Whether products of dims take as many folds as the dims one by one, for every size of tile."""
        laid = axis_dims(self.frame.problem, self.costs, self.dtypes)
        tiles = self.frame.tiles(len(self.frame.loops))
        sizes = [{tiles[dim], extent % tiles[dim] or tiles[dim]} for dim, extent in self.nest.einsum.extents.items()]
        for chosen in product(*sizes):
            extents = dict(zip(tiles, chosen, strict=True))
            for axis in self.hierarchy.axes:
                share = {loop.dim: self.nest.trips(at) for at, loop in self.nest.loops if loop.axis == axis.name}
                apart = prod(-(-extents[dim] // share.get(dim, 1)) for dim in laid[axis.name])
                if apart != -(-prod(extents[dim] for dim in laid[axis.name]) // axis.fanout):
                    return False
        return True

    @cached_property
    def held(self) -> bool:
        """Whether what the array holds changes from fold to fold, so that no command finds it there."""
        register = self.hierarchy.memories[-1]
        (operand,) = register.keep
        place = next(at for at, keep in self.nest.keeps[operand] if keep.level == register.name)
        dims = self.nest.einsum.operand(operand).dims
        inner = [at for at, loop in self.nest.loops if at < place and not loop.axis][len(self.frame.loops) :]
        return any(self.nest.trips(at) > 1 and self.nest.nodes[at].dim in dims for at in inner)  # type: ignore[union-attr]

    def looptree_bytes(self) -> Bytes:
        """Bytes that the LoopTree reads and writes at every memory of the chip."""
        names = {place.name: place.memory for place in places(self.frame.problem, self.costs)}
        found: Counter[tuple[str, str]] = Counter()
        for (memory, operand, way), values in counts(self.nest, self.hierarchy, WHOLE).items():
            if memory in names:
                sums = memory.endswith("_sums")
                bits = self.hierarchy.memory(memory).bits[operand] if sums else self.nest.einsum.operand(operand).bits
                found[names[memory], way] += values * bits // 8
        return {key: size for key, size in found.items() if size}

    def machine_bytes(self) -> Bytes:
        """Bytes that the machine counted there."""
        memories = {memory.name for memory in self.chip.memories}
        found: Counter[tuple[str, str]] = Counter()
        for (_, part, action), count in self.activity.counts.items():
            if part in memories and action in ("read_bytes", "write_bytes"):
                found[part, action.removesuffix("_bytes")] += count
        return {key: size for key, size in found.items() if size}


@lru_cache(maxsize=256)
def case_of(seed: int, padded: bool = False) -> Case | None:
    """A random case on an array; None where nothing fits or the vector unit is the better one."""
    pick = random.Random(f"{seed} {padded}")
    chip = small_chip(
        pick.choice((1 << 10, 1 << 11, 1 << 12)),
        1 << 10,
        *((4, 4), (2, 8), (8, 2), (3, 5))[seed // 5 % 4],
        dataflow=FLOWS[seed % len(FLOWS)],
        stages=pick.choice(STAGES),
        channels=1 + seed % 2,
    )
    chip = replace(chip, arrays=(replace(chip.arrays[0], rates={("int8", "int8"): pick.choice(RATES)}),))
    objective = pick.choice(("latency", "energy", "edp"))
    return compiled(_workload(pick, seed, padded), chip, Options(objective=objective, random=f"{seed}" * (seed % 2)))


def compiled(workload: Workload, chip: Architecture, options: Options) -> Case | None:
    try:
        found = Case(workload, chip, compile_model(workload, chip, options))
    except MappingError:
        return None
    return found if found.frame.problem.engine == "array" else None


def _workload(pick: random.Random, seed: int, padded: bool) -> Workload:
    net = Net(np.random.default_rng(seed))
    if not padded and pick.random() < 0.35:
        net.gemm("y", pick.randint(1, 40), pick.randint(1, 40), pick.randint(1, 60))
    else:
        _conv(net, pick, padded)
    workload = net.done("y")
    (layer,) = workload.layers
    return replace(workload, layers=(replace(layer, inputs=layer.inputs[:2]),))


def _conv(net: Net, pick: random.Random, padded: bool) -> None:
    kernel, groups = pick.choice((2, 3) if padded else (1, 2, 3)), pick.choice((1, 1, 1, 2))
    stride = pick.randint(1, kernel) if padded else pick.choice((1, 1, 2, 3))
    pads = tuple(pick.randint(0, kernel - 1) for _ in range(4)) if padded else (0, 0, 0, 0)
    net.source("x", (1, pick.randint(5, 13), pick.randint(5, 13), groups * pick.choice((1, 2, 5, 8))))
    wide, dilation = groups * pick.randint(1, 16), 1 if padded else pick.choice((1, 1, 2))
    net.conv("x", "y", wide, kernel, stride, pads, groups, dilation)  # type: ignore[arg-type]


def with_stored_padding(case: Case) -> Case:
    """The same layer and mapping, of an input that lies in memory with its padding."""
    (layer,) = case.workload.layers
    a, b = layer.inputs
    shape = case.workload.tensors[a.tensor].shape
    axes, sizes = [], []
    for axis, length in zip(a.axes, shape, strict=True):
        last = axis.offset + sum(step * (layer.dims[dim] - 1) for dim, step in axis.terms)
        axes.append(Axis(axis.terms, 0))
        sizes.append(max(length, last + 1) - axis.offset)
    tensors = {**case.workload.tensors, a.tensor: replace(case.workload.tensors[a.tensor], shape=tuple(sizes))}
    stored = replace(layer, inputs=(replace(a, axes=tuple(axes)), b))
    workload = replace(case.workload, layers=(stored,), tensors=tensors)
    given = Given({layer.name: case.compiled.mapping.layers[0]})
    found = compiled(workload, case.chip, Options(given=given))
    assert found is not None
    return found
