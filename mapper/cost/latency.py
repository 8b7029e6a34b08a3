"""What each engine, port and link needs of a layer at least: the terms of whose largest the latency is a bound.

An engine's are its own work, the first tile's way to it and the last tile's way from it; a port's the bytes over it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from mapper.cost.chip_rates import ChipCosts
from mapper.cost.conversions import conversions
from mapper.cost.grid import Flow, Reals
from mapper.cost.network_bounds import network_terms, trip, usual_rate
from mapper.cost.network_loads import is_apart, passage, reach_bytes
from mapper.cost.partial_sums import adding
from mapper.cost.unit_cycles import Work
from mapper.cost.waiting import Queue, behind_transfers, behind_whole, last_written, stalled, starved
from mapper.problem.channels import load_channel
from mapper.problem.looked_up import row_elements
from mapper.problem.operands import ACC, EPILOGUE, OUT, OperandPlan
from mapper.problem.problem import Problem

PINS = " pins"
ARRAY, VECTOR, LOADS, STORES = "array", "vector unit", "load engine", "store engine"
ENGINES = ("adding engine", LOADS, ARRAY, VECTOR, STORES, "copying engine")
NO_SLOWER: Mapping[str, float] = {}


def largest(terms: Mapping[Any, Reals]) -> Reals:
    """The largest of some terms, cell by cell."""
    return reduce(np.maximum, terms.values(), np.zeros(()))


class Terms(NamedTuple):
    """What each engine and each port needs: ``cycles`` in all, and of these ``work``, in which nobody else has it.

    An engine also needs the first tile's way to it and the last tile's way from it, in which others work.
    """

    cycles: dict[str, Reals]
    work: dict[str, Reals]

    def by_resource(self) -> list[Reals]:
        """Cycles of what may hold the others up: a core's engines, which a tile goes through one after the other, and
        each port and link."""
        engines = {name: cycles for name, cycles in self.cycles.items() if name in ENGINES}
        return [largest(engines), *(cycles for name, cycles in self.cycles.items() if name not in ENGINES)]


def latency_terms(
    problem: Problem,
    chip: ChipCosts,
    done: Work,
    off_chip: Mapping[str, Flow],
    counts: Mapping[tuple[str, str], Reals],
    slower: Mapping[str, float] = NO_SLOWER,
    *,
    in_turns: bool = False,
    slow_vector: float = 1.0,
) -> Terms:
    """Cycles that each engine and each port needs at least; ``off_chip``: the traffic that DRAM sees, ``counts``: bytes
    at each memory; ``slower``: how many times as long the on-chip streams of the moves of plans take, by their names.

    An engine's: its own work, the first tile's way to it and the last tile's way from it. ``in_turns``: also what a
    small last tile waits for the whole one before it, its bytes as if it were whole, and what loads and stores wait for
    one another where DRAM serves one after the other, which is no bound. ``slow_vector``: how many times as long the
    vector unit takes.
    """
    load_total, fed_total, load_first, queues = _load_times(chip, problem, off_chip, slower)
    store_total, store_last = _store_times(chip, problem, off_chip, slower)
    if problem.spread is not None and chip.opens:
        store_last = store_last + _last_of_cores(chip, problem, off_chip)
    if in_turns:
        store_last = store_last + last_written(chip, problem, off_chip)
        stood = behind_transfers(chip, problem.stores, off_chip, write=True)
        load_total, fed_total = load_total + stood, fed_total + stood
        store_total = store_total + behind_transfers(chip, problem.loads, off_chip, write=False)
    array_total, vector_total = done.array_total, done.vector_total
    if in_turns and problem.accumulates:
        waited = starved(done, off_chip, queues)
        array_total = array_total + waited
        vector_total = vector_total + waited + stalled(chip, problem, done, off_chip)
    made = conversions(chip, problem, off_chip, slow_vector)
    loaded, load_first = load_first, load_first + made.first
    compute_first = done.array_first + done.vector_first
    compute_last = done.array_last + done.vector_last
    if in_turns:
        compute_last = compute_last + behind_whole(problem, done, off_chip, load_total, compute_last)
    terms, between, links = dict[str, Reals](), 0.0, network_terms(chip, problem, off_chip)
    work = {
        "load engine": load_total, "array": array_total, "vector unit": vector_total + made.total,
        "store engine": store_total,
    }  # fmt: skip
    if problem.adders > 1:
        added = adding(problem, chip, off_chip[ACC])
        stored, _ = _store_time(chip, problem, problem.stores[0], off_chip, slower)
        in_turn = added.engine + done.vector_total + stored  # one tile after the other
        terms["adding engine"] = np.maximum(load_first + done.array_first, added.ahead) + in_turn
        work["adding engine"] = in_turn
        between, links = added.last, network_terms(chip, problem, off_chip, added.fetched, added.copied)
    terms |= {
        "load engine": np.maximum(fed_total + between + compute_last, load_total) + store_last,
        "array": load_first + array_total + between + done.vector_last + store_last,
        "vector unit": np.maximum(loaded + made.total, load_first + done.array_first)
        + between
        + vector_total
        + store_last,
        "store engine": load_first + compute_first + between + store_total,
    }
    if problem.engine == "copy" and not problem.loads and not problem.stores:
        terms["copying engine"] = work["copying engine"] = _copy_time(chip, problem, off_chip, slower)
    ports = _port_terms(chip, counts) | links
    return Terms(terms | ports, work | ports)


def _load_times(
    chip: ChipCosts, problem: Problem, moved: Mapping[str, Flow], slower: Mapping[str, float]
) -> tuple[Reals, Reals, Reals, Iterable[Queue]]:
    """Work of the busiest load engine, and of the busiest in bringing what sums are made of; when the first tiles of
    these can be there; and what each queue loads.

    The first tiles are there when each engine has brought its own, when each operand's tile has come over all its
    edges, and when each memory has served all of them. What meets finished sums in the drain may come in behind them.
    """
    channels = chip.architecture.dma.channels
    total, first, way = dict[tuple[str, int], Reals](), dict[tuple[str, int], Reals](), dict[str, Reals]()
    fed, queues = dict[tuple[str, int], Reals](), dict[tuple[str, int], Queue]()
    none, pins, late = np.zeros(()), dict[str, Reals](), np.zeros(())
    for plan in problem.loads:
        tile = moved[plan.name].first
        if is_apart(problem, plan):  # cores that are out of step for one operand are for the others
            begun = _passage(chip, problem, plan, tile, moved, begun=True)
            late = np.maximum(late, _passage(chip, problem, plan, tile, moved) - begun)
        lane = problem.engines_of(plan), load_channel(problem, plan, channels)
        all_tiles, first_tile = _load_time(chip, problem, plan, moved, slower.get(plan.name, 1.0))
        queues.setdefault(lane, {})[plan] = all_tiles
        total[lane] = total.get(lane, none) + all_tiles
        if plan.operand == EPILOGUE:
            continue
        pins[plan.home] = pins.get(plan.home, none) + _first_on_pins(chip, problem, plan, moved[plan.name])
        fed[lane], first[lane] = fed.get(lane, none) + all_tiles, first.get(lane, none) + first_tile
        way[plan.operand] = way.get(plan.operand, none) + first_tile
    there = late + np.maximum(np.maximum(largest(first), largest(way)), largest(pins))
    return largest(total), largest(fed), there, queues.values()


def _first_on_pins(chip: ChipCosts, problem: Problem, plan: OperandPlan, flow: Flow) -> Reals:
    """Cycles of the memory that an operand comes from for the first tiles of all cores with whole parts: the last of
    these begins when it has served them all.
    """
    rate = chip.port_rate(plan.home, write=False)
    return flow.first * (plan.element_bytes * problem.whole_parts(plan, plan.home)) / rate


def _load_time(
    chip: ChipCosts, problem: Problem, plan: OperandPlan, moved: Mapping[str, Flow], slower: float
) -> tuple[Reals, Reals]:
    """Engine time of all of an operand's tiles, and of the first one. On-chip streams run while DRAM is waited for."""
    flow, read, write = moved[plan.name], chip.read_rate(plan.home), chip.write_rate(plan.level)
    waited = 0.0 if plan.cached else chip.latency(plan.home, write=False)
    beside = chip.setup + trip(chip, problem, plan, both_ways=True)
    pin, stream = flow.touched * plan.element_bytes / read, flow.filled * plan.element_bytes / write * slower
    pin = np.maximum(pin, chip.asked(flow.touched, plan.element_bytes, plan.home))
    begun = flow.first * (plan.element_bytes * problem.whole_parts(plan, plan.home)) / read  # of the last to start
    begun = np.maximum(begun, chip.asked(flow.first, plan.element_bytes, plan.home))
    if plan.rows is not None:
        row = row_elements(plan.axes, plan.rows, problem.dims)
        pin = np.maximum(pin, flow.filled / row * chip.row_setup)
        begun = np.maximum(begun, chip.row_setup)
        runs = np.zeros(())
    else:
        begun = begun + _descriptors(chip, plan, flow, flow.first)
        runs = _descriptors(chip, plan, flow, flow.touched)
    tile = flow.filled / np.maximum(flow.moves, 1.0)
    sent = flow.moves * _passage(chip, problem, plan, tile, moved, begun=True)
    total = np.maximum(np.maximum(pin + flow.moves * waited, stream), sent) + runs + flow.moves * beside
    begun = np.maximum(begun, _passage(chip, problem, plan, flow.first, moved, begun=True))
    return np.maximum(total, flow.moves * chip.edge), np.maximum(begun + waited + beside, chip.edge)


def _passage(
    chip: ChipCosts,
    problem: Problem,
    plan: OperandPlan,
    elements: Reals,
    moved: Mapping[str, Flow],
    *,
    begun: bool = False,
) -> Reals:
    """Cycles of a tile over the network, the first one or where that has ``begun``; 0 for what does not cross it, and
    in bounds, since a message may be short."""
    noc = chip.architecture.noc
    if noc is None or not chip.opens or not problem.crosses(plan):
        return np.zeros(())
    rate, reach = usual_rate(chip, noc, problem, plan), reach_bytes(noc, problem, plan, moved)
    return passage(noc, problem, plan, elements, rate, reach, begun=begun)


def _descriptors(chip: ChipCosts, plan: OperandPlan, flow: Flow, elements: Reals) -> Reals:
    """Cycles of the descriptors of ``elements`` in DRAM, one for each contiguous run (none where that is not known)."""
    if not chip.run_setup or chip.architecture.memory(plan.home).kind != "dram":
        return np.zeros(())
    return np.where(flow.run > 0, elements / np.maximum(flow.run, 1.0), 0.0) * chip.run_setup


def _store_times(
    chip: ChipCosts, problem: Problem, moved: Mapping[str, Flow], slower: Mapping[str, float]
) -> tuple[Reals, Reals]:
    """Work of the busiest store engine, and of the last tile on its way out."""
    total, last = np.zeros(()), np.zeros(())
    for out in problem.stores:
        all_tiles, last_tile = _store_time(chip, problem, out, moved, slower)
        total, last = np.maximum(total, all_tiles), last + last_tile
    return total, last


def _last_of_cores(chip: ChipCosts, problem: Problem, moved: Mapping[str, Flow]) -> Reals:
    """Cycles in which the last tiles of all cores go over the network, and the memories that they share take them."""
    total = np.zeros(())
    for out in problem.stores:
        tile = moved[out.name].touched / np.maximum(moved[out.name].moves, 1.0)
        written = tile * (out.element_bytes * problem.share(out, out.home)) / chip.port_rate(out.home, write=True)
        total = total + np.maximum(written, _passage(chip, problem, out, tile, moved))
    return total


def _store_time(
    chip: ChipCosts, problem: Problem, out: OperandPlan, moved: Mapping[str, Flow], slower: Mapping[str, float]
) -> tuple[Reals, Reals]:
    """Engine time of all of an output's tiles, and of the last one."""
    flow = moved[out.name]
    copied = problem.engine == "copy"
    source = moved["in0"].touched if copied else flow.touched  # repetition reads once and writes often
    moves = moved["in0"].moves if copied and problem.operand("in0").buffered else flow.moves
    written = flow.touched * out.element_bytes / chip.write_rate(out.home)
    written = np.maximum(written, chip.asked(flow.touched, out.element_bytes, out.home))
    stream = source * out.element_bytes / chip.read_rate(out.level) * slower.get(out.name, 1.0)
    waited = chip.latency(out.home, write=True)
    beside = chip.setup + trip(chip, problem, out, both_ways=False)
    runs = _descriptors(chip, out, flow, flow.touched)
    total = np.maximum(np.maximum(written + moves * waited, stream) + moves * beside + runs, moves * chip.edge)
    return total, np.zeros(()) + max(waited + beside, chip.edge)


def _copy_time(chip: ChipCosts, problem: Problem, moved: Mapping[str, Flow], slower: Mapping[str, float]) -> Reals:
    """Engine time of a copy between places on chip."""
    source, out = problem.operand("in0"), problem.operand(OUT)
    read = moved["in0"].touched * source.element_bytes / chip.read_rate(source.level)
    written = moved[OUT].touched * out.element_bytes / chip.write_rate(out.level)
    stream = np.maximum(read, written) * slower.get(OUT, 1.0)
    moves = moved[OUT].moves
    return np.maximum(stream, moves * chip.edge) + moves * chip.setup


def _port_terms(chip: ChipCosts, counts: Mapping[tuple[str, str], Reals]) -> dict[str, Reals]:
    """Bytes over each memory's read and write ports; a DRAM's pins are one port for both."""
    used: dict[tuple[str, str], Reals] = {}
    for (memory, direction), count in counts.items():
        is_dram = chip.architecture.memory(memory).kind == "dram"
        key = (memory, "any" if is_dram else direction)
        used[key] = used.get(key, np.zeros(())) + count
    names = {key: f"{key[0]}{PINS}" if key[1] == "any" else f"{key[0]} {key[1]} ports" for key in used}
    return {names[m, d]: count / chip.port_rate(m, write=d == "write") for (m, d), count in used.items()}
