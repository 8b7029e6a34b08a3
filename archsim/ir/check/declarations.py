"""Declarations of a Program: unique names, known units and memories, places inside capacities, layouts inside sizes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import NoReturn

from archsim.base.errors import ProgramError, nearest
from archsim.ir.dtypes import BYTES
from archsim.ir.program import Loop, Node, Program, Queue, Ring, Tensor
from archsim.spec.architecture import ROLES, Architecture
from archsim.spec.memories import Memory
from archsim.spec.network import queue_core
from archsim.spec.part import Part

STORE_KINDS = {Tensor: "tensor", Ring: "ring"}


def describe(store: Tensor | Ring) -> str:
    """``tensor 'x'`` or ``ring 'conv1.x'``, for messages."""
    return f"{STORE_KINDS[type(store)]} '{store.name}'"


def check_declarations(program: Program, architecture: Architecture) -> None:
    """Raise ProgramError for a name, unit, memory, capacity or layout that does not hold together."""
    _check_unique(program)
    for queue in program.queues:
        _unit(queue, architecture)
    _check_instances(program, architecture)
    explicit = [memory for memory in architecture.memories if memory.filled_by == "dma"]
    places = {name: memory for memory in explicit for name in architecture.instances(memory)}
    for tensor in program.tensors:
        _check_place(tensor, places, architecture)
        _check_layout(tensor)
    for ring in program.rings:
        _check_ring(ring)
        _check_place(ring, places, architecture)
    for semaphore in program.semaphores:
        if semaphore.initial < 0:
            raise ProgramError(f"semaphore '{semaphore.name}' starts at {semaphore.initial}; allowed 0 or more")


def known_name(name: str, known: Collection[str], what: str) -> None:
    """Raise ProgramError '``what``: unknown ...' with the nearest name when ``name`` is not in ``known``."""
    if name not in known:
        names = sorted(known)
        raise ProgramError(f"{what} '{name}'{nearest(name, names)}; there are: {', '.join(names) or 'none'}")


def _check_unique(program: Program) -> None:
    rings = [ring.name for ring in program.rings]
    semaphores = [semaphore.name for semaphore in program.semaphores]
    _check_names("layer", program.layers)
    _check_names("tensor or ring", [*(tensor.name for tensor in program.tensors), *rings])
    _check_names("semaphore", [*(f"{ring}.{kind}" for ring in rings for kind in ("free", "full")), *semaphores])
    _check_names("queue", [queue.name for queue in program.queues])
    for queue in program.queues:
        _check_names(f"loop variable of {queue.name}", _loop_variables(queue.body))


def _check_names(what: str, names: Iterable[str]) -> None:
    for name, count in Counter(names).items():
        if count > 1:
            raise ProgramError(f"{what} '{name}' is declared twice; every {what} has a name of its own")


def _loop_variables(body: tuple[Node, ...]) -> list[str]:
    found = []
    for node in body:
        if isinstance(node, Loop):
            found += [node.var, *_loop_variables(node.body)]
    return found


def _unit(queue: Queue, architecture: Architecture) -> Part:
    """The chip part that runs ``queue``."""
    parts: dict[str, tuple[Part, ...]] = {
        "load": (architecture.dma,),
        "store": (architecture.dma,),
        "array": architecture.arrays,
        "vector": architecture.vectors,
        "host": (architecture.host,) if architecture.host is not None else (),
    }
    known_name(queue.engine, parts, f"queue '{queue.name}': unknown engine")
    units = {part.name: part for part in parts[queue.engine]}
    known_name(queue.unit, units, f"queue '{queue.name}': chip '{architecture.name}' has no {queue.engine} unit")
    return units[queue.unit]


def _check_instances(program: Program, architecture: Architecture) -> None:
    """As many queues per engine as a core has; a merged DMA is one engine for load and store."""
    users: dict[tuple[int, str, str], list[Queue]] = {}
    for queue in program.queues:
        merged = architecture.dma.merged and queue.engine in ("load", "store")
        core = _core(queue, architecture)
        users.setdefault((core, queue.unit, "dma" if merged else queue.engine), []).append(queue)
    for (core, unit, engine), queues in users.items():
        engines = max(1, _unit(queues[0], architecture).copies // architecture.cores)
        if engine in ("load", "store", "dma"):
            engines *= architecture.dma_queues
        if len(queues) > engines:
            names = ", ".join(queue.name for queue in queues)
            where = f"'{unit}' of core[{core}]" if architecture.noc is not None else f"'{unit}'"
            raise ProgramError(f"{where} has {engines} {engine} engine(s), but {len(queues)} queues run on it: {names}")


def _core(queue: Queue, architecture: Architecture) -> int:
    """The core that a queue stands in; 0 for the host's and on chips that have one core."""
    if architecture.noc is None or queue.engine == "host":
        return 0
    core = queue_core(queue.name)
    if core is None or core >= architecture.cores:
        last = architecture.cores - 1
        raise ProgramError(
            f"queue '{queue.name}' stands in no core of chip '{architecture.name}'; there are core[0] to core[{last}], "
            f"and their engines are called such as core[{last}].{queue.engine}"
        )
    return core


def _check_place(store: Tensor | Ring, places: Mapping[str, Memory], architecture: Architecture) -> None:
    """``places``: the explicit memories by the names under which Programs know them."""
    memory = places.get(store.memory)
    if memory is None:
        _refuse_memory(store, architecture)
    end = store.base + store.size_bytes
    if store.base < 0 or store.size_bytes < 1 or end > memory.capacity_bytes:
        raise ProgramError(
            f"{describe(store)} occupies bytes [{store.base}, {end}) of memory '{store.memory}', "
            f"which has [0, {memory.capacity_bytes})"
        )
    if store.dtype not in BYTES or store.role not in ROLES:
        known_name(store.dtype, BYTES, f"{describe(store)}: unknown dtype")
        known_name(store.role, ROLES, f"{describe(store)}: unknown role")
    if not 0 < store.scale < float("inf"):
        raise ProgramError(f"{describe(store)} has scale {store.scale}; allowed numbers above 0")


def _refuse_memory(store: Tensor | Ring, architecture: Architecture) -> NoReturn:
    explicit = [memory for memory in architecture.memories if memory.filled_by == "dma"]
    names = sorted(_named(architecture.instances(memory)) for memory in explicit)
    hint = nearest(store.memory, [memory.name for memory in explicit])
    raise ProgramError(
        f"{describe(store)}: chip '{architecture.name}' has no explicit memory '{store.memory}'{hint}; there are: "
        f"{', '.join(names) or 'none'}"
    )


def _named(instances: tuple[str, ...]) -> str:
    """The name, or the first and the last of one for each core."""
    return instances[0] if len(instances) == 1 else f"{instances[0]} to {instances[-1]}"


def _check_layout(tensor: Tensor) -> None:
    what = describe(tensor)
    if len(tensor.shape) != len(tensor.strides):
        raise ProgramError(f"{what} has {len(tensor.shape)} axes but {len(tensor.strides)} strides")
    if min(tensor.shape, default=1) < 1 or min(tensor.strides, default=0) < 0:
        raise ProgramError(f"{what}: shape {tensor.shape} and strides {tensor.strides} must be positive")
    reach = sum((extent - 1) * stride for extent, stride in zip(tensor.shape, tensor.strides, strict=True))
    last = tensor.origin + reach
    if tensor.origin < 0 or last + BYTES[tensor.dtype] > tensor.size_bytes:
        raise ProgramError(f"{what}: its layout ends at byte {last + BYTES[tensor.dtype]} of {tensor.size_bytes}")


def _check_ring(ring: Ring) -> None:
    what = describe(ring)
    if ring.slots < 1 or ring.slot_bytes < 1:
        raise ProgramError(f"{what} has {ring.slots} slots of {ring.slot_bytes} bytes; allowed 1 or more of each")
    if not 0 <= ring.retain < ring.slot_bytes:
        raise ProgramError(f"{what} retains {ring.retain} bytes; allowed 0 to {ring.slot_bytes - 1}")
    if ring.writer in ring.readers:
        raise ProgramError(f"{what} is written and read by {ring.writer}; one queue alone keeps its data in a tensor")
    if not ring.readers or len(set(ring.readers)) < len(ring.readers):
        raise ProgramError(f"{what} lists the readers ({', '.join(ring.readers)}); allowed one or more, each once")
