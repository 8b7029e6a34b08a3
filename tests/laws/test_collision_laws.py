"""Mappings are ranked by what their commands lose in banks and in DRAM: what the machine then takes for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pytest

from archsim.ir.mapping import LayerMapping
from archsim.ir.program import Command
from archsim.lab.run.job import Job, load_chip, prepare
from archsim.system import simulate
from mapper.cost.chip_rates import ChipCosts
from mapper.cost.slowdown import NONE
from mapper.explain import figures
from mapper.layers import Layers
from mapper.lower.collisions import Collisions, slowdown
from mapper.lower.frame import Frame
from mapper.lower.item import Item
from mapper.lower.layer import commands
from mapper.lower.one_layer import lower_alone
from mapper.options import resolve_dtypes
from mapper.problem.core_partition import of_core
from mapper.problem.problem import Problem
from mapper.search import random as drawn

CASES = [
    ("hand_tracking", "tpu_v1", {"block1_depthwise", "block5_depthwise", "block17", "stem"}),
    ("hand_tracking", "edge_npu", {"block1_depthwise", "block2", "block2_expand"}),
    ("shufflenet", "edge_npu", {"reshape_10_56x56x112", "conv_11_28x28x112"}),
    ("eye_tracking", "gemmini_16x16", {"stem", "stage1_a", "stage2"}),
]
SEEDS = range(4)


class _Asked(NamedTuple):
    """What was asked of a command with its whole tile, and the most that the machine took for it, in ps."""

    without: float
    expected: float
    taken: int


def _asked(model: str, chip: str, names: set[str]) -> Iterator[_Asked]:
    """All commands of layers that are mapped at random, alone."""
    job = Job(model, chip, schedule="layers")
    architecture = load_chip(job)
    asked = prepare(job, architecture)
    dtypes = resolve_dtypes(architecture, asked.options.dtypes or {})
    layers = Layers(asked.workload, architecture, dtypes, asked.options)
    mapped = layers.map()
    for problem in mapped.problems:
        if problem is None or problem.layer.name not in names:
            continue
        for seed in SEEDS:
            mapping = drawn.search(problem, layers.chip, dtypes, "latency", seed=f"{seed}").mapping
            program = lower_alone(
                layers.workload, architecture, dtypes, layers.options, problem, mapped.residency, mapping
            )
            rows = [row for records in simulate(program, architecture).records.values() for row in records]
            most: dict[str, int] = {}
            for row in rows:
                most[row.name] = max(most.get(row.name, 0), row.end_ps - row.start_ps)
            collisions = Collisions(problem, layers.chip)
            for item in commands(collisions.frame(mapping)):
                yield from _of_item(collisions, item, most)


def _of_item(collisions: Collisions, item: Item, most: dict[str, int]) -> Iterator[_Asked]:
    for (kind, _), (without, stretched) in collisions.seconds(item):
        if kind == "unit":
            yield _Asked(1e12 * without, 1e12 * stretched, most[item.command.name])


@pytest.mark.parametrize(("model", "chip", "names"), CASES, ids=[f"{model} {chip}" for model, chip, _ in CASES])
def test_a_command_takes_what_it_is_asked_to_take(model: str, chip: str, names: set[str]) -> None:
    """Law 38: nothing that is asked of a command is more than the machine takes for it; at least half of them, those
    that no other engine holds up, take just that."""
    found = list(_asked(model, chip, names))
    hz = load_chip(Job(model, chip)).clock_hz
    cycle = 1e12 / hz
    assert found
    for each in found:
        assert each.expected <= each.taken + cycle
    near = sum(each.taken - each.expected <= 2 * cycle for each in found)
    assert 2 * near >= len(found)


def test_some_of_these_commands_collide() -> None:
    """Those of a test in which nothing does would say nothing."""
    found = list(_asked(*CASES[0]))
    assert any(each.expected > 2 * each.without for each in found)


def _drawn(model: str, chip: str) -> Iterator[tuple[Problem, ChipCosts, list[LayerMapping]]]:
    """All layers of a model, each mapped at random several times."""
    job = Job(model, chip, schedule="layers")
    architecture = load_chip(job)
    asked = prepare(job, architecture)
    dtypes = resolve_dtypes(architecture, asked.options.dtypes or {})
    layers = Layers(asked.workload, architecture, dtypes, asked.options)
    for problem in layers.map().problems:
        if problem is not None:
            drawn_at = [drawn.search(problem, layers.chip, dtypes, "latency", seed=f"{seed}") for seed in SEEDS]
            yield problem, layers.chip, [choice.mapping for choice in drawn_at]


@pytest.mark.parametrize(("model", "chip"), [("shufflenet", "edge_npu"), ("eye_tracking", "mtia_v2i")])
def test_commands_at_their_first_turn_are_those_of_the_program_there(model: str, chip: str) -> None:
    for problem, costs, mappings in _drawn(model, chip):
        for mapping in mappings:
            early = Collisions(problem, costs).frame(mapping)
            whole = Frame(problem, of_core(problem, mapping), early.stored)
            start = dict.fromkeys(whole.vars, 0)
            for one, other in zip(commands(early), commands(whole), strict=True):
                assert _at(one.command, {}) == _at(other.command, start)
                assert (one.depth, one.operand) == (other.depth, other.operand)


def _at(command: Command, env: dict[str, int]) -> list[object]:
    """What a command touches at loop indices ``env``."""
    regions = [(r.store, r.element_bytes, r.strides, r.offset.at(env)) for r in (*command.reads, *command.writes)]
    extents = [(extent.dim, extent.at(env)) for extent in command.extents]
    return [command.op, extents, regions, bool(command.fresh), command.passes]


@pytest.mark.parametrize(("model", "chip"), [("shufflenet", "edge_npu"), ("eye_tracking", "mtia_v2i")])
def test_mappings_that_are_asked_together_lose_what_each_does_alone(model: str, chip: str) -> None:
    for problem, costs, mappings in _drawn(model, chip):
        together = Collisions(problem, costs)
        for mapping in mappings:
            assert together.slowdown(mapping) == slowdown(problem, mapping, costs)


def test_a_slowdown_only_adds() -> None:
    """Law 38: a figure with collisions is no less than the one without, and the bound has none of them."""
    job = Job("hand_tracking", "tpu_v1")
    architecture = load_chip(job)
    asked = prepare(job, architecture)
    dtypes = resolve_dtypes(architecture, asked.options.dtypes or {})
    layers = Layers(asked.workload, architecture, dtypes, asked.options)
    mapped = layers.mapped(frozenset())  # as they are chosen, each by what it takes alone
    for problem, mapping in zip(mapped.problems, mapped.mappings, strict=True):
        if problem is None:
            continue
        slow = slowdown(problem, mapping, layers.chip)
        assert min(slow.array, slow.vector, *slow.moves.values(), *slow.pins.values()) >= 1.0
        assert figures(layers, problem, mapping).cycles == mapping.expected_cycles >= mapping.bound_cycles
    assert NONE.is_none
