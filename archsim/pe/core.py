"""A core: the engines that a chip has, what their queues are called, and its computing engines.

Queues are called ``core[i].load``, ``.store``, ``.array``, ``.vector`` and ``host``; where one core has several
arrays or vector units, the others go by the name of their part. A merged DMA is one engine for loads and stores. Where
the DMA has several channels, the further ones are called ``core[i].load1``, ``.load2``, ... and ``core[i].store1``, ...
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from archsim.base.errors import ProgramError, nearest
from archsim.ir.program import Queue
from archsim.pe.array import ArrayEngine
from archsim.pe.vector import VectorEngine
from archsim.sim.protocols import Engine
from archsim.sim.tile_engine import EngineSurroundings
from archsim.spec.architecture import Architecture
from archsim.spec.network import queue_core
from archsim.spec.part import Part


class EngineCopies(NamedTuple):
    """The engines of one kind that a part of the chip has: ``copies`` of them, each with ``channels`` queues."""

    engine: str
    part: Part
    copies: int
    channels: int = 1


def units(architecture: Architecture) -> Iterator[EngineCopies]:
    """All engines of the chip, in the order in which reports list them."""
    dma = architecture.dma
    for engine in ("load",) if dma.merged else ("load", "store"):
        yield EngineCopies(engine, dma, dma.copies, dma.channels)
    for array in architecture.arrays:
        yield EngineCopies("array", array, array.copies)
    for vector in architecture.vectors:
        yield EngineCopies("vector", vector, vector.copies)
    if architecture.host is not None:
        yield EngineCopies("host", architecture.host, 1)


def idle_names(architecture: Architecture, queues: Iterable[Queue]) -> list[str]:
    """Names of the engines that no queue uses, core by core."""
    taken: set[str] = set()
    busy: Counter[tuple[int, str, str]] = Counter()
    merged = architecture.dma.merged
    for queue in queues:
        taken.add(queue.name)
        engine = "load" if merged and queue.engine == "store" else queue.engine
        busy[queue_core(queue.name) or 0, engine, queue.unit] += 1
    names: list[str] = []
    for unit in units(architecture):
        for core in range(unit.copies):
            left = max(0, unit.channels - busy[core, unit.engine, unit.part.name])
            free = [name for name in _names(unit, core) if name not in taken][:left]
            names += free
            taken.update(free)
    return names


def core_number(queue: str, architecture: Architecture) -> int | None:
    """The core that a queue stands in, where the chip has several; None for the host's.

    Raises ProgramError for a name that says no core of the chip.
    """
    if architecture.noc is None or queue == "host":
        return None
    core = queue_core(queue)
    if core is None or core >= architecture.cores:
        raise ProgramError(
            f"queue '{queue}' stands in no core of chip '{architecture.name}'; its engines are called core[0].load to "
            f"core[{architecture.cores - 1}].load, and so on"
        )
    return core


def compute_engine(queue: Queue, architecture: Architecture, around: EngineSurroundings) -> Engine:
    """The array or vector engine that runs ``queue``; raises ProgramError when the chip has no such unit."""
    core = core_number(queue.name, architecture)
    for array in architecture.arrays:
        if queue.engine == "array" and array.name == queue.unit:
            return ArrayEngine(around, array, core)
    for vector in architecture.vectors:
        if queue.engine == "vector" and vector.name == queue.unit:
            return VectorEngine(around, vector, core)
    known = [unit.part.name for unit in units(architecture) if unit.engine == queue.engine]
    raise ProgramError(
        f"queue '{queue.name}': chip '{architecture.name}' has no {queue.engine} unit '{queue.unit}'"
        f"{nearest(queue.unit, known)}; it has: {', '.join(known) or 'none'}"
    )


def _names(unit: EngineCopies, core: int) -> list[str]:
    if unit.engine == "host":
        return ["host"]
    numbers = ["", *map(str, range(1, unit.channels))]
    return [f"core[{core}].{unit.engine}{number}" for number in numbers] + [f"core[{core}].{unit.part.name}"]
