"""Random layers on random chips under random legal mappings: mapped, checked, simulated, executed, all equal.

python -m tests.tools.fuzz --cases 500 --seed 0
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from archsim.base.errors import ArchsimError, ConfigError, MappingError, ModelError
from archsim.facts.dataflows import catalogue
from archsim.graph.lowering.lower import LoweredModel, lower_graph
from archsim.graph.numeric import reference
from archsim.graph.numeric.constants import Constants, inputs_of
from archsim.graph.numeric.contents import contents, to_memory
from archsim.graph.numeric.quantise import Quantised
from archsim.ir.asm.parser import parse_program
from archsim.ir.asm.printer import print_program
from archsim.ir.check.program import check
from archsim.ir.check.workload import check_workload
from archsim.ir.graph import Graph
from archsim.spec.architecture import Architecture
from archsim.spec.memories import Memory, PortSet
from archsim.system import simulate
from mapper.compile import Compiled, Options, compile_model
from mapper.execute.run import Executor
from mapper.execute.views import view_bytes
from tests.tools.counts import compiler_counts, machine_counts
from tests.tools.graphs import random_graph
from tests.tools.layers import small_chip

REAL_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Outcome:
    """What became of a case: '' or why it was refused; the operators, the dataflow and the engines it used."""

    refused: str
    operators: tuple[str, ...] = ()
    dataflow: str = ""
    engines: tuple[str, ...] = ()


def random_chip(pick: random.Random) -> Architecture:
    """One core with an array (of any dataflow) or none, buffers from tight to roomy."""
    return small_chip(
        1 << pick.randint(10, 16),
        1 << pick.randint(9, 14),
        rows=pick.choice([1, 2, 4, 8, 16]),
        cols=pick.choice([1, 3, 4, 8]),
        dataflow=pick.choice(sorted(catalogue.names())),
        dram_rate=pick.choice([Fraction(8), Fraction(3), None]),
        word=pick.choice([1, 4, 16]),
        banks=pick.choice([1, 8, 64]),
        slots={role: pick.choice([1, 2, 2, 3]) for role in ("inputs", "weights", "outputs", "partials")},
    )


def banked(chip: Architecture, pick: random.Random) -> Architecture:
    """The chip with any interleave, ports of engines' own, and tiles with padded rows."""
    return replace(chip, memories=tuple(_banked(m, pick) if m.kind == "sram" else m for m in chip.memories))


def _banked(memory: Memory, pick: random.Random) -> Memory:
    interleave = pick.choice(["word", "word", "block", "xor"])
    own = pick.choice([{}, {}, {"dma": PortSet(1, 0)}, {"array": PortSet(2, 0), "vector": PortSet(1, 1, shared=True)}])
    return replace(
        memory,
        interleave=interleave,
        block_bytes=memory.word_bytes * pick.choice([1, 2, 16]) if interleave == "block" else 0,
        ports=pick.choice([PortSet(), PortSet(), PortSet(2, 1), PortSet(1, 1, shared=True)]),
        private_ports=own,
        padding_words={role: words for role in memory.keeps if (words := pick.choice([0, 0, 1, 3]))},
    )


def run_case(case: int, orders: int = 3, **dma: int) -> Outcome:
    """One case; AssertionError where anything differs. Refused cases say so. ``dma``: fields of the DMA engines."""
    pick = random.Random(case)
    try:
        graph = random_graph(case)
    except ModelError as error:
        return Outcome(f"model: {error}")
    chip = banked(random_chip(pick), random.Random(f"banks {case}"))
    chip = replace(chip, dma=replace(chip.dma, **dma))
    random_seed = "" if pick.random() < 0.3 else str(case)
    try:
        return run_graph(graph, chip, random_seed, case, orders)
    except (MappingError, ConfigError) as error:
        assert str(error)
        return Outcome(f"mapping: {error}")


def run_graph(graph: Graph, chip: Architecture, random_seed: str, seed: int, orders: int = 3) -> Outcome:
    """Everything that must hold of a graph on a chip; ``random_seed``: of a random mapping ('': the best)."""
    lowered = lower_graph(graph, batch=1, sha256="")
    check_workload(lowered.workload)
    compiled = compile_model(lowered.workload, chip, Options(random=random_seed))
    _timing(compiled, lowered, chip)
    _numbers(lowered, chip, random_seed, seed, orders)
    operators = tuple(layer.op for layer in lowered.workload.layers)
    engines = tuple(frame.problem.engine for frame in compiled.frames if frame is not None)
    return Outcome("", operators, chip.arrays[0].dataflow, engines)


def _timing(compiled: Compiled, lowered: LoweredModel, chip: Architecture) -> None:
    check(compiled.program, chip)
    assert parse_program(print_program(compiled.program)) == compiled.program
    activity = simulate(compiled.program, chip)
    assert compiler_counts(compiled, lowered.workload, chip) == machine_counts(activity, chip)
    bound = max(layer.bound_cycles for layer in compiled.mapping.layers)
    assert bound * 10**12 <= activity.total_ps * activity.clock_hz + 10**12, "the bound is above the simulation"


def _numbers(lowered: LoweredModel, chip: Architecture, random_seed: str, case: int, orders: int) -> None:
    graph = lowered.graph
    assert graph is not None
    constants, inputs = Constants(graph, {}, case, {}), inputs_of(graph, case, {})
    real = reference.real(graph, constants, inputs)
    held = {name: contents(item, graph, constants) for name, item in lowered.contents.items()}
    program = compile_model(lowered.workload, chip, Options(random=random_seed)).program
    _compare(lowered, Executor(program, numbers="float64", seed=case), held, real, REAL_TOLERANCE)
    quantised = Quantised(lowered, constants, real, dict(chip.dtypes), {})
    numbers = {name: (item.scale, item.zero) for name, item in quantised.elements.items()}
    program = compile_model(lowered.workload, chip, Options(random=random_seed, numbers=numbers)).program
    expected = reference.quantised(graph, quantised, inputs)
    for order in range(orders):
        _compare(lowered, Executor(program, seed=case + order), quantised.contents, expected, 0.0)


def _compare(
    lowered: LoweredModel,
    executor: Executor,
    held: dict[str, np.ndarray],
    expected: dict[str, np.ndarray],
    tolerance: float,
) -> None:
    tensors = lowered.workload.tensors
    stored = {tensor.name: tensor for tensor in executor.program.tensors}
    loaded = {name: to_memory(tensors[name], array) for name, array in held.items()}
    for name, value in lowered.values.items():
        if tensors[name].kind == "input" and tensors[name].view is None:
            loaded[name] = to_memory(tensors[name], expected[value])
    for name, array in loaded.items():
        if name in stored:
            executor.fill(name, array)
    executor.run()
    for name, tensor in tensors.items():
        if tensor.kind != "output":
            continue
        root = name if tensor.view is None else tensor.view.base
        offset, strides = view_bytes(stored[root], tensor.view)
        found = executor.values(root, tensor.shape, offset, strides)
        if name not in lowered.values:
            continue
        wanted = to_memory(tensor, expected[lowered.values[name]])
        apart = float(np.max(np.abs(found - wanted), initial=0.0))
        assert apart <= tolerance * float(np.max(np.abs(wanted), initial=1.0)), f"{name}: differs by {apart:g}"


def main() -> int:
    """Run cases and print what they covered; 1 where one fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0, help="number of the first case")
    asked = parser.parse_args()
    covered: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    failed = []
    for case in range(asked.seed, asked.seed + asked.cases):
        try:
            outcome = run_case(case)
        except (AssertionError, ArchsimError, ValueError, KeyError, IndexError, TypeError) as error:
            failed.append(case)
            print(f"case {case}: {type(error).__name__}: {str(error)[:300]}", flush=True)
            continue
        if outcome.refused:
            refused[outcome.refused.split(":")[0]] += 1
        covered.update((*outcome.operators, outcome.dataflow, *outcome.engines))
    print(f"{asked.cases} cases, {len(failed)} failed, refused: {dict(refused)}")
    print(", ".join(f"{name} {count}" for name, count in sorted(covered.items()) if name))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
