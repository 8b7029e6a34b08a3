"""Tensors that stay on chip go back to DRAM where they cost the layers beside them more than they spare.

What stays on chip leaves a layer less room for its tiles, so that it may have to bring in again what alone it brings in
once. Such a layer is found by its mapping without them; the whole network is then mapped without what only lies beside
it, or without all that stays there, and the better network is kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol

from archsim.ir.mapping import LayerMapping
from mapper.allocate.residency import Residency
from mapper.cost.chip_rates import ChipCosts
from mapper.cost.grid_cost import Costs
from mapper.given.priced import CELL, brought_again
from mapper.lower.model import Mapped
from mapper.options import Options
from mapper.problem.core_partition import of_core
from mapper.problem.problem import Problem
from mapper.search.ties import BAND


class NetworkMapper(Protocol):
    """What maps a network and its layers."""

    @property
    def chip(self) -> ChipCosts:
        """The costs of its chip."""

    @property
    def dtypes(self) -> Mapping[str, str]:
        """By role."""

    @property
    def options(self) -> Options:
        """What was asked."""

    @property
    def fixed(self) -> frozenset[str]:
        """Tensors of which a file says where they lie."""

    def is_stated(self, index: int) -> bool:
        """Whether a file states the mapping of a layer."""

    def residency(self, barred: frozenset[str]) -> Residency:
        """What stays on chip when the tensors ``barred`` may not."""

    def mapped(self, barred: frozenset[str]) -> Mapped:
        """The network without these on chip."""

    def priced(self, problem: Problem, mapping: LayerMapping) -> Costs:
        """The costs of a layer in a mapping."""

    def map_layer(self, index: int, residency: Residency) -> tuple[Problem | None, LayerMapping]:
        """A layer beside what stays on chip."""


def relieved(layers: NetworkMapper, mapped: Mapped) -> Mapped:
    """The network with no more on chip than is worth it by the objective's figures."""
    figure, tried = network_figure(layers, mapped), {mapped.barred}
    others = _others(layers, mapped)
    while (barred := next(others, None)) is not None:
        if barred in tried:
            continue
        tried.add(barred)
        other = layers.mapped(barred)
        found = network_figure(layers, other)
        if found < figure * (1 - BAND):
            mapped, figure = other, found
            others = _others(layers, mapped)
    return mapped


def _others(layers: NetworkMapper, mapped: Mapped) -> Iterator[frozenset[str]]:
    """Tensors that may be barred beside those that are, the most promising first: of each layer that has less room than
    it needs those that it does not use, then all."""
    pressed: list[tuple[float, int]] = []
    for index, (problem, mapping) in enumerate(zip(mapped.problems, mapped.mappings, strict=True)):
        pins = _pins(layers, mapped, index)
        if problem is None or not pins or layers.is_stated(index):
            continue
        if _fetches_again(layers, problem, mapping):
            free = layers.map_layer(index, Residency(mapped.residency.capacity))
            lost = _figure_of(layers, problem, mapping) - _figure_of(layers, *free)
            if lost > BAND * _figure_of(layers, problem, mapping):
                pressed.append((-lost, index))
    for _, index in sorted(pressed):
        pins, own = _pins(layers, mapped, index), _own(mapped.problems[index])
        for wanted in (pins - own, pins):
            if wanted:
                yield _barred(layers, mapped, wanted)


def _barred(layers: NetworkMapper, mapped: Mapped, wanted: frozenset[str]) -> frozenset[str]:
    """What is barred beside that, so that the room of the tensors ``wanted`` goes to tiles and not to other tensors."""
    barred = mapped.barred | wanted
    while others := layers.residency(barred).tensors.keys() - mapped.residency.tensors.keys():
        barred |= others
    return barred


def _pins(layers: NetworkMapper, mapped: Mapped, index: int) -> frozenset[str]:
    """Tensors that stay on chip while a layer runs and that no file has there."""
    return frozenset(found.tensor for found in mapped.residency.at(index)) - layers.fixed


def _own(problem: Problem | None) -> frozenset[str]:
    assert problem is not None
    return frozenset(plan.tensor for plan in problem.operands if plan.tensor)


def _fetches_again(layers: NetworkMapper, problem: Problem, mapping: LayerMapping) -> bool:
    """Whether a matmul brings in bytes twice, for which it might have room alone."""
    return problem.layer.kind == "matmul" and bool(brought_again(problem, of_core(problem, mapping)))


def network_figure(layers: NetworkMapper, mapped: Mapped) -> float:
    """What the objective makes of a network."""
    pairs = [(p, m) for p, m in zip(mapped.problems, mapped.mappings, strict=True) if p is not None]
    cycles = float(sum(mapping.expected_cycles for _, mapping in pairs))
    if layers.options.objective == "latency":
        return cycles
    energy = sum(_energy_pj(layers, *pair) for pair in pairs)
    return energy if layers.options.objective == "energy" else cycles * energy


def _figure_of(layers: NetworkMapper, problem: Problem | None, mapping: LayerMapping) -> float:
    """What the objective makes of a layer."""
    assert problem is not None
    if layers.options.objective == "latency":
        return float(mapping.expected_cycles)
    energy = _energy_pj(layers, problem, mapping)
    return energy if layers.options.objective == "energy" else mapping.expected_cycles * energy


def _energy_pj(layers: NetworkMapper, problem: Problem, mapping: LayerMapping) -> float:
    return float(layers.priced(problem, mapping).energy_pj[CELL])
