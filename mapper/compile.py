"""Compile a Workload for a chip: residency, one mapping per layer, addresses, the Program."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from archsim.energy.chip import energy_per_byte
from archsim.errors import ConfigError, MappingError, nearest
from archsim.ir.dtypes import size_bytes
from archsim.ir.mapping import LayerMapping, ModelMapping, Placement
from archsim.ir.program import Command, Program
from archsim.ir.program import Tensor as StoredTensor
from archsim.ir.workload import Layer, Workload
from archsim.spec.architecture import Architecture
from mapper.cache import MappingCache, digest
from mapper.costs import ChipCosts, Outer
from mapper.lower.frame import Frame, Stored
from mapper.lower.layer import Item, commands, layer_rings, scratch
from mapper.lower.program import LoweredLayer, assemble, border_items, queue_names
from mapper.numbers import PLAIN, Numbers, of_operands
from mapper.placement import Lifetime, layout, lifetimes, place_dram, view_strides
from mapper.problem import Problem, base_of, build, home_role, operand_dtype
from mapper.residency import Residency, plan_residency
from mapper.rings import Slot, allocate
from mapper.search import exhaustive, random

OBJECTIVES = ("latency", "energy", "edp")
RINGS_PER_LAYER = 6
CAPACITY_STEPS = 16  # free bytes beside pinned tensors count in 16ths, so that equal layers are searched once


@dataclass(frozen=True)
class Compiled:
    """A mapped and lowered model. ``frames``: each layer's lowering (None on the host), ``residency``.

    What is pinned.
    """

    mapping: ModelMapping
    program: Program
    frames: tuple[Frame | None, ...]
    residency: Residency
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Options:
    """What the user asked of the compiler.

    ``cache``: folder for mappings, None for none; ``outer``: rates of the chip's DRAM parts; ``pinned``: layers whose
    mapping is given instead of searched; ``numbers``: (scale, zero) of tensors, (1, 0) where absent; ``random``: seed
    of a legal mapping drawn at random instead of the best ('': the best).
    """

    objective: str = "latency"
    dtypes: Mapping[str, str] | None = None
    cache: Path | None = None
    outer: Mapping[str, Outer] = field(default_factory=dict)
    pinned: Mapping[str, LayerMapping] = field(default_factory=dict)
    numbers: Mapping[str, Numbers] = field(default_factory=dict)
    random: str = ""


def compile_model(workload: Workload, architecture: Architecture, options: Options | None = None) -> Compiled:
    """Map every layer, place every tensor, lower to a Program.

    Raises MappingError (tensor, level, needs, has) when a layer cannot be mapped, ConfigError for a wrong option.
    """
    options = options or Options()
    if options.objective not in OBJECTIVES:
        raise ConfigError(
            f"objective '{options.objective}'{nearest(options.objective, OBJECTIVES)}: allowed {', '.join(OBJECTIVES)}"
        )
    dtypes = resolve_dtypes(architecture, options.dtypes or {})
    compiler = _Compiler(workload, architecture, dtypes, options)
    residency, problems, mappings = compiler.map_layers()
    return compiler.lower(residency, problems, mappings)


def resolve_dtypes(architecture: Architecture, asked: Mapping[str, str]) -> dict[str, str]:
    """dtype per role: the chip's, overridden by ``asked``; checks that the array has a rate for the pair."""
    found = {**architecture.dtypes, **asked}
    for role in ("inputs", "weights", "outputs", "accumulate"):
        if role not in found:
            raise ConfigError(f"chip '{architecture.name}' states no dtype for {role} (dtypes.{role})")
        size_bytes(found[role])
    if found["outputs"] != found["inputs"]:
        raise ConfigError(
            f"dtypes: outputs {found['outputs']} and inputs {found['inputs']} differ; one layer's outputs are the "
            "next one's inputs"
        )
    for array in architecture.arrays:
        array.rate(found["inputs"], found["weights"])
    return found


class _Compiler:
    """One compilation: holds what every step needs."""

    def __init__(
        self, workload: Workload, architecture: Architecture, dtypes: dict[str, str], options: Options
    ) -> None:
        self.workload, self.architecture, self.dtypes, self.options = workload, architecture, dtypes, options
        self.base = {name: base_of(workload, name) for name in workload.tensors}
        self.chip = ChipCosts(architecture, options.outer, energy_per_byte(architecture))
        self.cache = MappingCache(options.cache, architecture.sha256)
        self.memo: dict[str, LayerMapping] = {}
        self.lives = lifetimes(workload, self.base)
        uses = ((self.base[op.tensor], op.role) for layer in workload.layers for op in layer.inputs)
        self.roles = {name: role for name, role in uses if role == "tables"}

    # mapping ----------------------------------------------------------------------------------------------------

    def map_layers(self) -> tuple[Residency, list[Problem | None], list[LayerMapping]]:
        """Residency and a mapping per layer; a layer that cannot be mapped sends the largest pinned tensor to DRAM."""
        barred: frozenset[str] = frozenset()
        while True:
            residency = plan_residency(self.workload, self.architecture, self.dtypes, barred)
            try:
                pairs = [self._map_layer(index, layer, residency) for index, layer in enumerate(self.workload.layers)]
            except _TooTightError as tight:
                barred |= {tight.tensor}
                continue
            self.cache.save()
            return residency, [problem for problem, _ in pairs], [mapping for _, mapping in pairs]

    def _map_layer(self, index: int, layer: Layer, residency: Residency) -> tuple[Problem | None, LayerMapping]:
        if layer.kind == "host":
            return None, LayerMapping(layer.name, "host", "host", (), (), 0, 1, 1, "runs on the host")
        self._check_tables(layer)
        pinned = residency.at(index)
        try:
            found = [self._solve(self._problem(index, layer, residency, engine)) for engine in self._engines(layer)]
        except MappingError:
            if not pinned:
                raise
            raise _TooTightError(max(pinned, key=lambda r: (r.layout.size_bytes, r.tensor)).tensor) from None
        return min(found, key=lambda pair: pair[1].bound_cycles)

    def _engines(self, layer: Layer) -> list[str]:
        if layer.kind == "copy":
            return ["copy"]
        if layer.kind == "vector":
            return ["vector"]
        grouped = any(layer.dims[dim] > 1 for dim in layer.batch)
        engines = ["array"] if self.architecture.arrays else []
        if self.architecture.vectors and (grouped or not engines):
            engines.append("vector")
        return engines or ["array"]

    def _check_tables(self, layer: Layer) -> None:
        """A copy changes no element, so rows have the activations' format."""
        tables, inputs = self.dtypes.get("tables", self.dtypes["weights"]), self.dtypes["inputs"]
        if layer.kind == "copy" and tables != inputs and any(operand.role == "tables" for operand in layer.inputs):
            raise ConfigError(
                f"layer '{layer.name}' ({layer.op}) gathers rows of {tables} tables as {inputs} inputs; a gather "
                f"changes no element: state dtypes.tables of the chip, or --dtype with tables={inputs}"
            )

    def _problem(self, index: int, layer: Layer, residency: Residency, engine: str) -> Problem:
        capacity = {m.name: m.capacity_bytes - RINGS_PER_LAYER * m.word_bytes for m in self.architecture.memories}
        shared = self.architecture.memory(residency.memory)
        step = max(1, shared.capacity_bytes // CAPACITY_STEPS)
        capacity[shared.name] = residency.free_bytes(index) // step * step - RINGS_PER_LAYER * shared.word_bytes
        resident = frozenset(r.tensor for r in residency.at(index))
        return build(layer, self.workload, self.architecture, self.dtypes, capacity, resident, engine)

    def _solve(self, problem: Problem) -> tuple[Problem, LayerMapping]:
        given = self.options.pinned.get(problem.layer.name)
        if given is not None:
            return problem, given
        if self.options.random:
            return problem, random.search(problem, self.chip, self.dtypes, self.options.random).mapping
        key = self._key(problem)
        found = self.memo.get(key) or self.cache.get(key)
        if found is None:
            found = exhaustive.search(problem, self.chip, self.dtypes, self.options.objective).mapping
            self.cache.put(key, found)
        self.memo[key] = found
        return problem, replace(found, layer=problem.layer.name)

    def _key(self, problem: Problem) -> str:
        layer = problem.layer
        plans = [replace(plan, tensor="") for plan in problem.operands]
        groups = (layer.batch, layer.m, layer.n, layer.k, layer.whole, layer.kind)
        return digest(
            [
                problem.engine,
                sorted(problem.dims.items()),
                list(problem.dims),
                groups,
                plans,
                [(step.passes, step.slow) for step in layer.steps],
                sorted(problem.capacity.items()),
                sorted(self.dtypes.items()),
                self.options.objective,
                sorted(self.options.outer.items()),
            ]
        )

    # lowering ---------------------------------------------------------------------------------------------------

    def lower(self, residency: Residency, problems: list[Problem | None], mappings: list[LayerMapping]) -> Compiled:
        """Addresses, rings, commands, Program."""
        tensors = self._place(residency)
        by_name = {tensor.name: tensor for tensor in tensors}
        lowered: list[LoweredLayer] = []
        frames: list[Frame | None] = []
        rings: dict[str, Slot] = {}
        for index, (layer, problem, mapping) in enumerate(zip(self.workload.layers, problems, mappings, strict=True)):
            lowered += self._borders(index, layer, residency)
            if problem is None:
                lowered.append(LoweredLayer(layer.name, None, [self._host(layer)], []))
                frames.append(None)
                rings = {}
                continue
            rings = allocate(problem, mapping, self.architecture, self._free(index, residency), rings)
            frame = Frame(
                problem,
                mapping,
                {op.name: self._stored(op.tensor, by_name, residency) for op in problem.operands if op.tensor},
                self.architecture.dma.channels,
                index % self.architecture.dma.channels,
            )
            frames.append(frame)
            numbers = of_operands(problem, self.base, self.options.numbers)
            tensors += tuple(scratch(frame, rings, numbers))
            declared = list(layer_rings(frame, rings, queue_names(self.architecture), numbers))
            lowered.append(LoweredLayer(layer.name, frame, commands(frame, rings), declared))
        outputs = tuple(
            sorted({self.base[t.name] for t in self.workload.tensors.values() if t.kind == "output"} & set(by_name))
        )
        program = assemble(self.workload.name, self.architecture, lowered, tensors, outputs)
        program = replace(program, layers=tuple(layer.name for layer in self.workload.layers))
        whole = ModelMapping(
            self.workload.name,
            self.architecture.name,
            self.options.objective,
            tuple(mappings),
            self._placements(by_name.values()),
            self.dtypes,
        )
        return Compiled(whole, program, tuple(frames), residency, self._warnings())

    def _warnings(self) -> tuple[str, ...]:
        """What the user should know of the compilation."""
        dtype, source = self.dtypes["inputs"], self.workload.dtype
        if "float" in source and "int" in dtype:
            return (f"the model is {source}; it is timed as {dtype} (quantised), the chip's dtype",)
        return ()

    def _free(self, index: int, residency: Residency) -> dict[str, int]:
        free = {memory.name: memory.capacity_bytes for memory in self.architecture.memories}
        free[residency.memory] = residency.free_bytes(index)
        return free

    def _borders(self, index: int, layer: Layer, residency: Residency) -> list[LoweredLayer]:
        found = []
        for pinned in residency.at(index):
            if pinned.life.first == index:
                shape = self.workload.tensors[pinned.tensor].shape
                items = border_items(layer.name, pinned, shape)
                if items:
                    found.append(LoweredLayer(layer.name, None, items, []))
        return found

    def _host(self, layer: Layer) -> Item:
        touches = (
            *((self.base[op.tensor], False) for op in layer.inputs),
            (self.base[layer.output.tensor], True),
        )
        flops, nbytes = int(str(layer.attributes.get("flops", 0))), int(str(layer.attributes.get("bytes", 0)))
        command = Command(f"{layer.name}.host", "HOST", layer.name, role="host", flops=flops, nbytes=nbytes)
        return Item("host", 0, command, touches)

    def _stored(self, tensor: str, by_name: Mapping[str, StoredTensor], residency: Residency) -> Stored:
        base = self.workload.tensors[self.base[tensor]]
        size = size_bytes(by_name[base.name].dtype)
        pinned = residency.tensors.get(base.name)
        stored = pinned.layout if pinned is not None else layout(base, size)
        offset, strides = view_strides(self.workload.tensors[tensor], base, stored)
        return Stored(base.name, offset, strides, self.workload.tensors[tensor].shape)

    def _place(self, residency: Residency) -> tuple[StoredTensor, ...]:
        dtypes = self._tensor_dtypes()
        by_home: dict[str, list[tuple[str, int, Lifetime]]] = {}
        for name, dtype in dtypes.items():
            if name in residency.tensors:
                continue
            tensor = self.workload.tensors[name]
            home = self.architecture.outer(home_role(tensor.kind, self.roles.get(name, ""))).name
            by_home.setdefault(home, []).append((name, tensor.elements * size_bytes(dtype), self.lives[name]))
        placed: dict[str, tuple[str, int]] = {}
        for home, wanted in by_home.items():
            addresses = place_dram(wanted, self.architecture.memory(home).capacity_bytes, home)
            placed |= {name: (home, address) for name, address in addresses.items()}
        return tuple(self._tensor(name, dtype, placed, residency) for name, dtype in dtypes.items())

    def _tensor_dtypes(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for layer in self.workload.layers:
            for operand in (*layer.inputs, layer.output):
                found.setdefault(self.base[operand.tensor], operand_dtype(operand, self.dtypes))
        return found

    def _tensor(
        self, name: str, dtype: str, placed: Mapping[str, tuple[str, int]], residency: Residency
    ) -> StoredTensor:
        tensor = self.workload.tensors[name]
        pinned = residency.tensors.get(name)
        stored = pinned.layout if pinned is not None else layout(tensor, size_bytes(dtype))
        memory, address = (pinned.memory, pinned.address) if pinned is not None else placed[name]
        role = home_role(tensor.kind, self.roles.get(name, ""))
        return StoredTensor(
            name,
            memory,
            address,
            stored.size_bytes,
            dtype,
            role,
            tensor.shape,
            stored.strides,
            tensor.kind in ("input", "weight"),
            stored.origin,
            *self.options.numbers.get(name, PLAIN),
        )

    def _placements(self, tensors: Iterable[StoredTensor]) -> tuple[Placement, ...]:
        return tuple(
            Placement(t.name, t.memory, t.base, t.size_bytes, self.lives[t.name].first, self.lives[t.name].last)
            for t in tensors
        )


class _TooTightError(Exception):
    """A layer cannot be mapped while ``tensor`` is pinned."""

    def __init__(self, tensor: str) -> None:
        super().__init__(tensor)
        self.tensor = tensor
