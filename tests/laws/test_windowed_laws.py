"""Laws of arrays whose dataflow asks for windows: what holds of every dataflow holds of them, on whole layers."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from math import ceil

import numpy as np
import pytest

from archsim.base.errors import MappingError
from archsim.energy.chip import mapped_energies
from archsim.facts.dataflows import catalogue
from archsim.ir.asm.parser import parse_program
from archsim.ir.asm.printer import print_program
from archsim.ir.check.program import check
from archsim.ir.mapping import Constraint, Loop
from archsim.ir.program import Command, CommandLoop, Program, ProgramNode
from archsim.ir.workload import Workload
from archsim.lab.run.offchip import outer_rates
from archsim.sim.attribution import attribute
from archsim.sim.mac_breakdown import mac_breakdown
from archsim.spec.architecture import Architecture
from archsim.system import simulate
from mapper.compile import Compiled, Options, compile_model
from mapper.cost.chip_rates import ChipCosts
from mapper.given.priced import CELL, price
from mapper.looptree.bound import bounds
from mapper.options import Given
from mapper.search import table_cache
from tests.laws.test_cores_laws import SHAPES, networked
from tests.oracles.lowered import nest_of
from tests.tools.agreement import assert_agreement_if_it_fits
from tests.tools.counts import compiler_counts, machine_counts
from tests.tools.fuzz import run_graph
from tests.tools.graphs import Writer
from tests.tools.layers import Net, random_net, small_chip
from tests.tools.looptree_layers import compiled as compiled_case
from tests.tools.plugins import WINDOWED, plugins

SIDES = ((3, 4), (4, 4), (2, 8), (5, 3))


@pytest.fixture(autouse=True, scope="module")
def _with_plugins() -> Iterator[None]:
    with plugins():
        yield


def chip_of(seed: int) -> Architecture:
    """A small row-stationary chip; some with little room, some with a DRAM of no limits, some that pack MACs."""
    pick = random.Random(seed)
    room, rate = (
        pick.choice(((3 << 10, 1 << 10), (1 << 13, 1 << 11), (1 << 16, 1 << 14))),
        pick.choice((Fraction(8), None)),
    )
    chip = small_chip(*room, *SIDES[seed % len(SIDES)], dataflow=WINDOWED, dram_rate=rate)
    rates = {("int8", "int8"): pick.choice((Fraction(1), Fraction(1), Fraction(2), Fraction(1, 2), Fraction(3, 2)))}
    return replace(chip, arrays=(replace(chip.arrays[0], rates=rates),))


def convolution(seed: int) -> Workload:
    """One convolution: any filter up to 4 x 4, stride, dilation, padding, groups; depthwise too."""
    pick = random.Random(f"conv {seed}")
    net = Net(np.random.default_rng(seed))
    groups = pick.choice((1, 1, 1, 2, 4))
    x = net.source("x", (1, pick.randint(7, 14), pick.randint(7, 12), groups * pick.choice((1, 1, 3, 5))))
    kernel, dilation = pick.choice((1, 2, 3, 3, 4)), pick.choice((1, 1, 2))
    pads = tuple(pick.randint(0, 1) for _ in range(4))
    net.conv(x, "y", groups * pick.randint(1, 6), kernel, pick.choice((1, 1, 2, 3)), pads, groups, dilation)  # type: ignore[arg-type]
    return net.done("y")


def built(seed: int) -> tuple[Workload, Architecture, Compiled]:
    """A convolution on the array of a chip, by the best mapping or a random one."""
    workload, chip = convolution(seed), chip_of(seed)
    asked = Given(constraints=(Constraint(workload.layers[0].name, units=("mxu",)),))
    options = Options(objective=("latency", "energy")[seed % 2], random=str(seed) if seed % 3 == 0 else "", given=asked)
    return workload, chip, compile_model(workload, chip, options)


def products(nodes: tuple[ProgramNode, ...]) -> Iterator[Command]:
    """The MATMUL commands of a queue."""
    for node in nodes:
        if isinstance(node, CommandLoop):
            yield from products(node.body)
        elif node.op == "MATMUL":
            yield node


def matmuls(program: Program) -> list[Command]:
    """Those of all queues."""
    return [command for queue in program.queues for command in products(queue.body)]


@pytest.mark.parametrize("before", [name for name in catalogue.names() if name != WINDOWED])
def test_what_was_mapped_before_changes_nothing(before: str) -> None:
    """Law 48: tables of one layer that outlive its search are not those of a dataflow that tells other dims apart."""
    net = Net(np.random.default_rng(0))
    net.conv(net.source("x", (1, 13, 11, 6)), "y", 10, 3, 1, (1, 1, 1, 1))
    workload, chip = net.done("y"), small_chip(1 << 10, 1 << 10, dataflow=WINDOWED)
    table_cache.forget()
    alone = compile_model(workload, chip)
    table_cache.forget()
    compile_model(workload, small_chip(1 << 10, 1 << 10, dataflow=before))
    assert compile_model(workload, chip).program == alone.program


@pytest.mark.parametrize("seed", range(60))
def test_law_38_counts_bounds_and_macs(seed: int) -> None:
    """Laws 17, 35, 38, 39: the compiler's counts are the machine's, its bound is below the simulation, MACs are exact,
    all cycles and all slots of MACs are accounted for, and the listing reads back."""
    workload, chip, compiled = built(seed)
    check(compiled.program, chip)
    assert parse_program(print_program(compiled.program)) == compiled.program
    assert [command.nest.windows for command in matmuls(compiled.program) if command.nest] == [
        workload.layers[0].windows
    ] * len(matmuls(compiled.program))
    activity = simulate(compiled.program, chip)
    counted = machine_counts(activity, chip)
    assert compiler_counts(compiled, workload, chip) == counted
    (layer,) = workload.layers
    assert counted[layer.name, "mxu", "mac"] == layer.macs
    (mapping,) = compiled.mapping.layers
    assert mapping.bound_cycles * 1000 <= activity.total_ps
    cube = attribute(activity)
    assert {sum(row.values()) for row in cube.time_breakdown().values()} == {cube.cycles_total}
    slots = mac_breakdown(activity, chip, cube)
    assert slots["useful"] == layer.macs and min(slots.values()) >= 0
    assert sum(slots.values()) == ceil(cube.cycles_total * chip.arrays[0].peak_macs_per_cycle)


@pytest.mark.parametrize("seed", range(0, 60, 3))
def test_law_38_no_mapping_is_below_the_bounds(seed: int) -> None:
    """Law 38: cycles and energy of any mapping are at least those of the whole layer as one command, and of any
    LoopTree beside it."""
    workload, chip, compiled = built(seed)
    frame = compiled.frames[0]
    assert frame is not None
    costs = ChipCosts(chip, outer_rates(chip), mapped_energies(chip).pj)
    found = bounds(frame.problem, costs, compiled.mapping.dtypes)
    own = price(frame.problem, compiled.mapping.layers[0], costs, compiled.mapping.dtypes)
    assert 0 < found.cycles.figure <= own.bound[CELL]
    assert 0 < found.energy_pj.figure <= own.energy_pj[CELL]


@pytest.mark.parametrize("seed", range(0, 40, 4))
def test_law_38_with_ideal_memories_only_the_array_is_left(seed: int) -> None:
    """Law 38: with memories of no limits the analytic latency is the simulated one."""
    chip = small_chip(1 << 16, 1 << 14, *SIDES[seed % len(SIDES)], dataflow=WINDOWED, dram_rate=None, banks=1 << 14)
    workload = convolution(seed)
    asked = Given(constraints=(Constraint(workload.layers[0].name, units=("mxu",)),))
    compiled = compile_model(workload, chip, Options(given=asked))
    assert compiled.mapping.layers[0].bound_cycles * 1000 == simulate(compiled.program, chip).total_ps


@pytest.mark.parametrize("seed", range(8))
def test_law_42_it_computes_the_model(seed: int) -> None:
    """Law 42: in any order, under random mappings, the numbers are the model's; in groups, strided, dilated."""
    pick = random.Random(seed)
    to = Writer(pick)
    groups = 1 + seed % 2
    to.source("x", (1 + seed % 2, 2 * groups, 9, 8))
    weights = to.weight((2 * groups, 2, 3, 2))
    steps = {"strides": (1 + seed % 3, 1 + seed % 2), "dilations": (1 + seed // 4, 1)}
    to.add("Conv", to.last, weights, group=groups, pads=(1, 0, 1, 1), **steps)
    outcome = run_graph(to.graph(), small_chip(1 << 11, 1 << 10, 3, 4, dataflow=WINDOWED), str(seed), seed)
    assert outcome.dataflow == WINDOWED


@pytest.mark.parametrize("seed", range(24))
def test_law_38_counts_agree_over_several_cores(seed: int) -> None:
    """Laws 38, 42: of random networks spread over cores the counts are the machine's, and they compute the model."""
    net, workload = random_net(seed)
    topology, shape = SHAPES[seed % len(SHAPES)]
    chip = networked(small_chip(1 << 12, 1 << 11, 3, 4, dataflow=WINDOWED, channels=1 + seed % 2), topology, shape)
    options = Options(objective=("latency", "energy")[seed % 2], random=str(seed) if seed % 3 == 0 else "")
    assert_agreement_if_it_fits(net, workload, chip, lambda: options, seed)


@pytest.mark.parametrize("seed", range(12))
def test_law_38_what_may_not_be_spread_has_tiles_of_one(seed: int) -> None:
    """Law 38: with nothing allowed on the columns a command has one output row; counts and bound hold as ever."""
    workload, chip = convolution(seed), chip_of(seed)
    (layer,) = workload.layers
    asked = Constraint(layer.name, units=("mxu",), spatial={"cols": ()})
    compiled = compile_model(workload, chip, Options(given=Given(constraints=(asked,))))
    (mapping,) = compiled.mapping.layers
    assert [node.tile for node in mapping.nodes if isinstance(node, Loop) and node.dim == "p"][-1:] == [1]
    activity = simulate(compiled.program, chip)
    assert compiler_counts(compiled, workload, chip) == machine_counts(activity, chip)
    assert mapping.bound_cycles * 1000 <= activity.total_ps


@pytest.mark.parametrize("seed", range(10))
def test_law_38_a_looptree_with_two_held_operands_counts_what_the_machine_counts(seed: int) -> None:
    """Law 38: of two operands that stay in the PEs each has a register file; bytes at every memory are equal.

    But for what the array reads where it takes fewer folds than equal parts of a dim would.
    """
    pick = random.Random(seed)
    net = Net(np.random.default_rng(seed))
    net.gemm("y", pick.randint(2, 24), pick.randint(2, 24), pick.randint(2, 30))
    workload = net.done("y")
    (layer,) = workload.layers
    workload = replace(workload, layers=(replace(layer, inputs=layer.inputs[:2]),))
    asked = Given(constraints=(Constraint(layer.name, units=("mxu",)),))
    case = compiled_case(
        workload, small_chip(1 << 11, 1 << 10, *SIDES[seed % 4], dataflow=WINDOWED), Options(given=asked)
    )
    assert case is not None
    assert [(memory.name, set(memory.keep)) for memory in case.hierarchy.memories[-2:]] == [
        ("weights_register", {"b"}),
        ("inputs_register", {"a"}),
    ]
    mine, machine = case.looptree_bytes(), case.machine_bytes()
    read = ("l1", "read")
    assert {**mine, read: machine[read]} == machine
    assert mine[read] == machine[read] if case.flat else mine[read] > machine[read]


def test_no_looptree_shares_inputs_along_diagonals() -> None:
    """A LoopTree lays dims over rows and columns; what a windowed array shares beyond them it cannot say."""
    _, chip, found = built(2)
    frame = found.frames[0]
    assert frame is not None
    costs = ChipCosts(chip, outer_rates(chip), mapped_energies(chip).pj)
    with pytest.raises(MappingError, match="shares inputs between p and r, q and s, which no LoopTree"):
        nest_of(frame, costs, found.mapping.dtypes)


@pytest.mark.parametrize("name", sorted({*catalogue.names(), WINDOWED}))
def test_only_a_dataflow_that_asks_gets_windows(name: str) -> None:
    """Programs of the shipped dataflows have none, so their listings say nothing of them."""
    workload = convolution(2)
    asked = Given(constraints=(Constraint(workload.layers[0].name, units=("mxu",)),))
    program = compile_model(workload, small_chip(dataflow=name), Options(given=asked)).program
    wanted = workload.layers[0].windows if name == WINDOWED else ()
    assert {command.nest.windows for command in matmuls(program) if command.nest} == {wanted}
    assert ("window(" in print_program(program)) == bool(wanted)
