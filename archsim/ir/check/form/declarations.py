"""Declarations of a Program: unique names, known units and memories, places inside capacities, layouts inside sizes.

They say also who may take and give which token, and who may touch which ring: the rules that make tokens a marked
graph.

On a chip of several cores arrays and vector units touch the memories of their own core alone; the DMA engines of a core
move bytes between all memories, over the network where it lies between them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import NoReturn

import numpy as np

from archsim.base.arrays import IntArray
from archsim.base.errors import ProgramError, nearest
from archsim.base.ragged import any_of
from archsim.ir.asm.printer import dense_strides
from archsim.ir.check.form.owned import plainly_owned
from archsim.ir.columns import ProgramColumns
from archsim.ir.dtypes import BYTES
from archsim.ir.program import Command, CommandLoop, PlacedTensor, Program, ProgramNode, Queue, Ring, Token
from archsim.spec.architecture import ROLES, Architecture
from archsim.spec.memories import Memory
from archsim.spec.network import core_of, instance, queue_core
from archsim.spec.part import Part

STORE_KINDS = {PlacedTensor: "tensor", Ring: "ring"}


def describe(store: PlacedTensor | Ring) -> str:
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


def _loop_variables(body: tuple[ProgramNode, ...]) -> list[str]:
    found = []
    for node in body:
        if isinstance(node, CommandLoop):
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


def _check_place(store: PlacedTensor | Ring, places: Mapping[str, Memory], architecture: Architecture) -> None:
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


def _refuse_memory(store: PlacedTensor | Ring, architecture: Architecture) -> NoReturn:
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


def _check_layout(tensor: PlacedTensor) -> None:
    what = describe(tensor)
    if len(tensor.shape) != len(tensor.strides):
        raise ProgramError(f"{what} has {len(tensor.shape)} axes but {len(tensor.strides)} strides")
    if min(tensor.shape, default=1) < 1 or min(tensor.strides, default=0) < 0:
        raise ProgramError(f"{what}: shape {tensor.shape} and strides {tensor.strides} must be positive")
    reach = sum((extent - 1) * stride for extent, stride in zip(tensor.shape, tensor.strides, strict=True))
    _check_state(tensor)
    last = tensor.origin + reach
    if tensor.origin < 0 or last + BYTES[tensor.dtype] > tensor.size_bytes:
        raise ProgramError(f"{what}: its layout ends at byte {last + BYTES[tensor.dtype]} of {tensor.size_bytes}")


def _check_state(tensor: PlacedTensor) -> None:
    """A state says which rows hold data; each is one stretch of bytes, or one for each index of the axes around it."""
    state, what = tensor.state, describe(tensor)
    if state is None:
        return
    if tensor.preloaded:
        raise ProgramError(f"{what} is a state and preloaded; allowed one of both")
    if not 0 <= state.axis < len(tensor.shape):
        raise ProgramError(f"{what}: its rows follow along axis {state.axis} of {len(tensor.shape)}")
    if not 0 <= state.length <= tensor.shape[state.axis]:
        raise ProgramError(f"{what}: {state.length} rows hold data; allowed 0 to {tensor.shape[state.axis]}")
    inner = dense_strides(tensor.shape, tensor.dtype)[state.axis :]
    if tensor.strides[state.axis :] != inner:
        raise ProgramError(f"{what}: strides {list(tensor.strides)} leave gaps between its rows; allowed none")


def _check_ring(ring: Ring) -> None:
    what = describe(ring)
    if ring.slots < 1 or ring.slot_bytes < 1:
        raise ProgramError(f"{what} has {ring.slots} slots of {ring.slot_bytes} bytes; allowed 1 or more of each")
    if not 0 <= ring.retain < ring.slot_bytes:
        raise ProgramError(f"{what} retains {ring.retain} bytes; allowed 0 to {ring.slot_bytes - 1}")
    most = ring.slots * ring.slot_bytes
    if ring.span and not (ring.retain and ring.slot_bytes <= ring.span <= most):
        raise ProgramError(
            f"{what} has a span of {ring.span} bytes; allowed {ring.slot_bytes} to {most}, where slots retain bytes"
        )
    if not ring.readers or len(set(ring.readers)) < len(ring.readers):
        raise ProgramError(f"{what} lists the readers ({', '.join(ring.readers)}); allowed one or more, each once")


def commands_of(body: tuple[ProgramNode, ...]) -> list[Command]:
    """Every command text of a body, in order."""
    found: list[Command] = []
    for node in body:
        if isinstance(node, CommandLoop):
            found += commands_of(node.body)
        else:
            found.append(node)
    return found


def check_ownership(columns: ProgramColumns) -> None:
    """Raise ProgramError when a queue takes, gives or touches what is not its own."""
    queues, program = columns.queues, columns.program
    for ring in program.rings:
        if ring.writer not in queues:
            known_name(ring.writer, queues, f"ring '{ring.name}': unknown writer queue")
        for reader in ring.readers:
            if reader not in queues:
                known_name(reader, queues, f"ring '{ring.name}': unknown reader queue")
    if plainly_owned(columns):
        return
    owners = _Owners(program)
    for queue in program.queues:
        for command in commands_of(queue.body):
            owners.check_tokens(queue, command)
            if command.reads or command.writes:
                owners.check_stores(queue, command)
            if command.retains:
                owners.check_retain(queue, command)


class _Owners:
    """Lookups of a Program's tokens and stores; ``takers`` and ``givers`` by token, of semaphores as they are seen."""

    def __init__(self, program: Program) -> None:
        stores: list[PlacedTensor | Ring] = [*program.tensors, *program.rings]
        self.program = program
        self.stores = {store.name: store for store in stores}
        self.semaphores = {item.name for item in program.semaphores}
        self.everyone = {queue.name for queue in program.queues}
        self.takers: dict[str, Collection[str]] = {}
        self.givers: dict[str, Collection[str]] = {}
        for ring in program.rings:
            self.takers[f"{ring.name}.free"] = self.givers[f"{ring.name}.full"] = (ring.writer,)
            self.takers[f"{ring.name}.full"] = self.givers[f"{ring.name}.free"] = ring.readers

    @cached_property
    def rings(self) -> dict[str, tuple[Ring, str]]:
        """Ring and kind of each of its tokens."""
        return {f"{ring.name}.{kind}": (ring, kind) for ring in self.program.rings for kind in ("free", "full")}

    def check_tokens(self, queue: Queue, command: Command) -> None:
        """Tokens are known, counts positive, ring tokens taken and given by their owners, one waiter each."""
        name, takers, givers = queue.name, self.takers, self.givers
        for token in command.waits:
            allowed = takers.get(token.name)
            if allowed is None and token.name in self.semaphores:
                allowed = takers[token.name] = (name,)
            if allowed is None or name not in allowed or token.n < 1:
                self._check_token(queue, token, f"{command.name} of {queue.name} waits for", taking=True)
                self._refuse_waiter(queue, command, token)
        for token in command.signals:
            allowed = givers.get(token.name)
            if allowed is None and token.name in self.semaphores:
                allowed = givers[token.name] = self.everyone
            if allowed is None or name not in allowed or token.n < 1:
                self._check_token(queue, token, f"{command.name} of {queue.name} signals", taking=False)

    def _check_token(self, queue: Queue, token: Token, what: str, taking: bool) -> None:
        tokens = {*self.rings, *self.semaphores}
        if token.name not in tokens:
            known_name(token.name, tokens, f"{what} unknown token")
        if token.n < 1:
            raise ProgramError(f"{what} {token.n} tokens of '{token.name}'; allowed 1 or more")
        if token.name not in self.rings:
            return
        allowed = (self.takers if taking else self.givers)[token.name]
        if queue.name not in allowed:
            part = "writer" if taking == (self.rings[token.name][1] == "free") else "readers"
            raise ProgramError(f"{what} '{token.name}'; only the {part} of the ring may: {', '.join(allowed)}")

    def _refuse_waiter(self, queue: Queue, command: Command, token: Token) -> NoReturn:
        (first,) = self.takers[token.name]
        body = next(other.body for other in self.program.queues if other.name == first)
        where = next(c.name for c in commands_of(body) if any(wait.name == token.name for wait in c.waits))
        raise ProgramError(
            f"semaphore '{token.name}' is waited on by two queues: {where} of {first} and "
            f"{command.name} of {queue.name}; a semaphore has exactly one waiting queue"
        )

    def check_stores(self, queue: Queue, command: Command) -> None:
        """Operands name known stores; a ring is written by its writer and read by its readers (or its writer)."""
        name, stores = queue.name, self.stores
        for region in command.writes:
            store = stores.get(region.store)
            if store is None or (type(store) is Ring and name != store.writer):
                self._refuse_store(queue, command)
        for region in command.reads:
            store = stores.get(region.store)
            if store is None or (type(store) is Ring and name != store.writer and name not in store.readers):
                self._refuse_store(queue, command)

    def _refuse_store(self, queue: Queue, command: Command) -> NoReturn:
        """Say of the first operand that breaks a rule: unknown ones first, then what is written."""
        what = f"{command.name} of {queue.name}"
        for region in (*command.reads, *command.writes):
            known_name(region.store, self.stores, f"{what}: unknown tensor or ring")
        rings = [store for region in command.writes if isinstance(store := self.stores[region.store], Ring)]
        for ring in rings:
            if queue.name != ring.writer:
                raise ProgramError(f"{what} writes ring '{ring.name}', whose writer is {ring.writer}")
        rings = [store for region in command.reads if isinstance(store := self.stores[region.store], Ring)]
        ring = next(ring for ring in rings if queue.name not in (ring.writer, *ring.readers))
        raise ProgramError(f"{what} reads ring '{ring.name}', whose readers are {', '.join(ring.readers)}")

    def check_retain(self, queue: Queue, command: Command) -> None:
        """A command flagged ``retains`` takes a slot of a ring that keeps a halo."""
        rings = [self.rings[token.name][0] for token in command.waits if token.name in self.rings]
        if not any(ring.retain for ring in rings):
            raise ProgramError(
                f"{command.name} of {queue.name} is flagged 'retains' but takes no slot of a ring with retain > 0"
            )


COMPUTING = ("MATMUL", "VECTOR", "SETUP")


def check_reach(columns: ProgramColumns, architecture: Architecture) -> None:
    """Raise ProgramError for a command that computes in memories that are not its core's own."""
    if architecture.noc is None:
        return
    program = columns.program
    memories = dict.fromkeys(item.memory for item in columns.items)
    cores = {name: core_of(name) for name in memories}
    places = {item.name: (item.memory, cores[item.memory]) for item in columns.items}
    owners = [queue_core(queue.name) for queue in program.queues]
    for number in _far(columns, [cores[item.memory] for item in columns.items], owners, architecture):
        queue = int(columns.queue[number])
        _check_command(columns.commands[number], program.queues[queue], owners[queue] or 0, places, architecture)


def _far(
    columns: ProgramColumns, cores: Sequence[int | None], owners: Sequence[int | None], architecture: Architecture
) -> list[int]:
    """Commands that compute in a core and touch memories of others, and those that read weights as they set up, if
    weights lie outside. ``cores``: of stores; ``owners``: of queues."""
    where, owner = _numbers(cores), _numbers(owners)
    computes = np.fromiter([command.op in COMPUTING for command in columns.commands], np.bool_, len(columns.commands))
    computes &= owner[columns.queue] >= 0
    at = columns.operator
    far = computes & any_of(at, where[columns.store] != owner[columns.queue[at]], len(columns.commands))
    weights = architecture.path("weights")
    if weights and architecture.noc is not None and weights[-1].name not in architecture.noc.inside:
        far |= computes & np.fromiter([command.nbytes != 0 for command in columns.commands], np.bool_, len(far))
    return np.flatnonzero(far).tolist()


def _numbers(cores: Sequence[int | None]) -> IntArray:
    """Numbers of cores, -1 for none, and one more."""
    return np.array([*(-1 if core is None else core for core in cores), -1], dtype=np.int64)


def _check_command(
    command: Command,
    queue: Queue,
    core: int,
    places: Mapping[str, tuple[str, int | None]],
    architecture: Architecture,
) -> None:
    """``places``: of each store its memory and the core whose that is."""
    own, what = architecture.noc.inside if architecture.noc is not None else (), f"{command.name} of {queue.name}"
    for region in (*command.reads, *command.writes):
        memory, has = places[region.store]
        if has != core:
            raise ProgramError(
                f"{what}: operand '{region.operand}' is in '{memory}'; core[{core}] computes only in "
                f"memories of its own: {', '.join(instance(name, core) for name in own) or 'none'}"
            )
    weights = architecture.path("weights") if command.op == "SETUP" and command.nbytes else ()
    if weights and weights[-1].name not in own:
        raise ProgramError(
            f"{what} reads '{weights[-1].name}', where weights are nearest; it is above the network, and a SETUP reads "
            "what its core has"
        )
