"""Mappings and placements that a file states, taken instead of searching; each fault is refused with its place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NoReturn

from archsim.base.errors import MappingError, nearest
from archsim.ir.mapping import LayerMapping, Loop, Placement
from archsim.ir.workload import Layer, Workload
from mapper.allocate.rings import Slot, wanted
from mapper.cost.chip_rates import ChipCosts
from mapper.given.judge import broken, spread_fault
from mapper.given.priced import CELL, price
from mapper.given.structure import faults
from mapper.options import Given
from mapper.problem.constraints import Rules, unused
from mapper.problem.core_partition import of_core, on_cores
from mapper.problem.operands import STAGE
from mapper.problem.packed import base_of
from mapper.problem.problem import Problem

PROOF = "stated, not searched"


class StatedError(MappingError):
    """A stated mapping is wrong, whatever else stays on chip."""


@dataclass(frozen=True)
class Stated:
    """What a file states of one workload on one chip."""

    workload: Workload
    chip: ChipCosts
    dtypes: Mapping[str, str]
    given: Given

    def check(self) -> None:
        """Raise MappingError for layers and tensors that the workload lacks, constraints that speak of no layer."""
        names = [layer.name for layer in self.workload.layers]
        for name in self.given.layers:
            if name not in names:
                raise MappingError(
                    f"{self.given.place(f'layer {name}')}no layer '{name}' in '{self.workload.name}'"
                    f"{nearest(name, names)}"
                )
        told = unused(self.workload.layers, self.given.constraints)
        if told:
            raise MappingError(told)
        for tensor in self.given.placements:
            self._check_placement(tensor)

    def _check_placement(self, tensor: str) -> None:
        tensors = {
            base_of(self.workload, op.tensor) for layer in self.workload.layers for op in (*layer.inputs, layer.output)
        }
        where = self.given.place(f"placement {tensor}")
        if tensor not in tensors:
            raise MappingError(
                f"{where}no tensor '{tensor}' with storage of its own in '{self.workload.name}'"
                f"{nearest(tensor, tensors)}"
            )
        memory, known = self.given.placements[tensor].memory, [m.name for m in self.chip.architecture.memories]
        if memory not in known:
            raise MappingError(
                f"{where}tensor '{tensor}': no memory '{memory}'{nearest(memory, known)}; there are {', '.join(known)}"
            )

    @property
    def placed(self) -> Mapping[str, Placement]:
        """Placements by tensor."""
        return self.given.placements

    def has(self, layer: Layer) -> bool:
        """Whether the layer's mapping is stated."""
        return layer.name in self.given.layers

    def resident(self, layer: Layer) -> tuple[str, ...]:
        """Tensors that the layer's stated mapping says stay on chip."""
        if not self.has(layer):
            return ()
        names = self.given.layers[layer.name].resident
        return tuple(base_of(self.workload, op.tensor) for op in (*layer.inputs, layer.output) if op.name in names)

    @cached_property
    def _units(self) -> dict[str, str]:
        """Engine -> unit, of those that the chip has."""
        chip = self.chip.architecture
        parts = {"array": chip.arrays, "vector": chip.vectors, "copy": (chip.dma,)}
        return {engine: found[0].name for engine, found in parts.items() if found}

    def engine(self, layer: Layer, possible: list[str]) -> str:
        """The engine that the stated unit is; raises MappingError when the layer cannot run there."""
        mapping = self.given.layers[layer.name]
        if mapping.kind != layer.kind:
            self._refuse(layer.name, f"kind '{mapping.kind}'; the layer is a {layer.kind}")
        units = {self._units[engine]: engine for engine in possible if engine in self._units}
        if mapping.unit not in units:
            allowed = ", ".join(units) or "none"
            self._refuse(layer.name, f"unit '{mapping.unit}'{nearest(mapping.unit, units)}; allowed {allowed}")
        return units[mapping.unit]

    def mapping(self, problem: Problem, free: Mapping[str, int], rules: Rules) -> LayerMapping:
        """The stated mapping with its figures; ``free``: bytes by memory.

        Raises MappingError when it is none that can be lowered, does not fit, or breaks the rules.
        """
        name = problem.layer.name
        whole = self.given.layers[name]
        mapping = of_core(problem, whole)
        outer = len(whole.nodes) - len(mapping.nodes)
        memories = tuple(memory.name for memory in self.chip.architecture.memories)
        for fault in faults(problem, mapping, memories):
            self._refuse(name, fault.text, fault.node if fault.node is None else fault.node + outer)
        self._check_room(problem, mapping, free)
        costs = price(problem, whole, self.chip, self.dtypes)
        self._check_rules(problem, mapping, rules)
        bound, expected = int(costs.bound[CELL]), int(costs.cycles[CELL])
        return replace(whole, bound_cycles=bound, expected_cycles=expected, space=1, evaluated=1, proof=PROOF)

    def on_cores(self, problem: Problem) -> Problem:
        """The part of the layer that one core has as the stated mapping spreads it; all of it on a chip of one core.

        Raises MappingError where it cannot be spread so.
        """
        mapping, chip = self.given.layers[problem.layer.name], self.chip.architecture
        fault = spread_fault(problem, chip, mapping)
        if fault is not None:
            self._refuse(problem.layer.name, fault.text, fault.node)
        return on_cores(problem, chip, mapping)

    def _check_room(self, problem: Problem, mapping: LayerMapping, free: Mapping[str, int]) -> None:
        by_level: dict[str, list[Slot]] = {}
        for slot in wanted(problem, mapping):
            by_level.setdefault(slot.memory, []).append(slot)
        for level, slots in by_level.items():
            word = self.chip.architecture.memory(level).word_bytes
            need = sum(-(-slot.size_bytes // word) * word for slot in slots)
            if need <= free[level]:
                continue
            most = max(slots, key=lambda slot: slot.size_bytes)
            keep = problem.operand(most.operand)
            at = (keep.operand, keep.level)
            node = next(
                i for i, n in enumerate(mapping.nodes) if not isinstance(n, Loop) and (n.operand, n.level) == at
            )
            total = self.chip.architecture.memory(level).capacity_bytes
            text = ", ".join(f"{slot.operand.partition(STAGE)[0]} {slot.slots} x {slot.slot_bytes:,}" for slot in slots)
            raise self._error(
                problem.layer.name,
                f"'{level}' overflows: needs {need:,} bytes ({text}), of which {most.size_bytes:,} for operand "
                f"'{keep.operand}'; it has {free[level]:,} of {total:,} bytes free",
                node,
                MappingError,
            )

    def _check_rules(self, problem: Problem, mapping: LayerMapping, rules: Rules) -> None:
        found = broken(problem, mapping, rules)
        if found:
            self._refuse(problem.layer.name, f"{found[0]}; {rules.place} asks for that")

    def _refuse(self, layer: str, text: str, node: int | None = None) -> NoReturn:
        raise self._error(layer, text, node, StatedError)

    def _error(self, layer: str, text: str, node: int | None, kind: type[MappingError]) -> MappingError:
        key = f"layer {layer}" if node is None else f"layer {layer}[{node}]"
        return kind(f"{self.given.place(key)}layer '{layer}': {text}")
