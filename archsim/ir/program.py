"""The Program: in-order queues of tile commands ordered only by counting semaphores.

A Program is what the compiler hands to the machine. Its unrolled form is its meaning; ``CommandLoop`` is compression
only.

Queues. One per engine instance (``core[0].load``, ``.store``, ``.array``, ``.vector``, ``host``). A command starts when
it heads its queue, its waits are met (each takes ``n`` tokens, at start) and its engine is free. It signals at its end.

Rings. ``Ring`` is ``slots`` slots of ``slot_bytes`` in one memory, written by one queue and read by ``readers``.
It owns the token ``NAME.free`` (at first ``slots``; taken by the writer; rises when a slot's readers have all given it)
and the token ``NAME.full`` (initially 0, one counter per reading queue; a writer's signal raises each).
A queue's current slot of a ring is the last one whose token it took; that of its writer, which may read it too, is the
last one that it took to write. Slots follow one another around the ring's
``slots * slot_bytes`` bytes; with ``retain`` > 0 a slot whose token was taken by a command flagged ``retains``
begins ``retain`` bytes before the end of the previous one (the halo stays; the move brings only the rest). Slots that
share bytes need less room than each by itself: ``span``, where it is stated, is the bytes around which they follow.

Regions. Every operand is ``store`` (a tensor or a ring's current slot) + ``offset`` + sum(index_d * strides_d) over
the command's named extents, in bytes. ``clips`` bound an axis: indices outside ``[0, length)`` of the tensor are not
touched at the source and are filled with ``fill`` at the destination. Extents shrink by their ``limits``
(ceil trips with clamped last tiles).

Numbers. A store holds elements of its ``dtype``; an element q stands for (q - ``zero``) * ``scale``. Moves carry
elements as they are, so both ends have one scale and zero; accumulators have the product of their factors' scales; the
vector unit computes in real numbers, rounds half to even into its destination's elements and clamps there. An element
of 0 in a clipped place means the destination's ``zero``.

Sharing. Many commands share one object of these classes, so nobody may change one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeVar, dataclass_transform

from archsim.facts.dataflows.fold import Window
from archsim.ir.functions import Functions, names
from archsim.ir.indices import Indices

_Class = TypeVar("_Class")


@dataclass_transform(frozen_default=True)
def shared(cls: type[_Class]) -> type[_Class]:
    """A dataclass with slots and a hash that the type checker holds to be frozen; at run time it is not, since frozen
    ones take three times as long to make, and a Program has a million of them.
    """
    return dataclass(slots=True, unsafe_hash=True)(cls)


Op = Literal["MOVE", "GATHER", "SCATTER", "MATMUL", "VECTOR", "SETUP", "HOST", "SYNC"]
EngineKind = Literal["load", "store", "array", "vector", "host"]
Env = Mapping[str, int]


@shared
class Affine:
    """``const`` + sum(coefficient * loop variable)."""

    const: int = 0
    terms: tuple[tuple[str, int], ...] = ()

    def at(self, env: Env) -> int:
        """Value at loop indices ``env``."""
        value = self.const
        for var, coefficient in self.terms:
            value += coefficient * env[var]
        return value


@shared
class LoopEdge:
    """One literal of a condition: ``first(var)``, ``last(var)`` or their negations."""

    kind: Literal["first", "last"]
    var: str
    negated: bool = False


When = tuple[LoopEdge, ...]  # all must hold; () = always


@shared
class Token:
    """Take (wait) or give (signal) ``n`` tokens of a semaphore ``name`` when ``when`` holds."""

    name: str
    n: int = 1
    when: When = ()


@shared
class Extent:
    """A named extent: min(size, every limit), at least 0."""

    dim: str
    size: int
    limits: tuple[Affine, ...] = ()

    def at(self, env: Env) -> int:
        """Clamped value at loop indices ``env``."""
        value = self.size
        for limit in self.limits:
            bound = limit.at(env)
            value = min(value, bound)
        return max(value, 0)


@shared
class Clip:
    """Axis ``dim`` of a region starts at tensor index ``start``; only indices in [0, ``length``) exist."""

    dim: str
    start: Affine
    length: int


@shared
class CommandGuard:
    """Points of a command's extents take part only where sum(coefficient * index of a dim) + ``start`` is in
    [0, ``length``): what of a window lies inside its tensor, which keys a row of queries sees.
    """

    terms: tuple[tuple[str, int], ...]
    start: Affine
    length: int


@shared
class Region:
    """One operand of a command. ``strides``: (dim, bytes) for each extent that moves it; others broadcast or reduce.

    ``operand`` names its part in the command: a, b, bias, acc (MATMUL); src, dst (MOVE, GATHER, SCATTER);
    in0.., out (VECTOR).
    """

    operand: str
    store: str
    element_bytes: int
    strides: tuple[tuple[str, int], ...]
    offset: Affine = Affine()
    clips: tuple[Clip, ...] = ()


@shared
class Lookup:
    """Which rows of its table a GATHER or SCATTER moves: one entry of ``indices`` for each point of some extents.

    The table has ``rows`` rows, ``row_bytes`` from the start of one to that of the next. The number of an entry in the
    stream is ``start`` + sum(coefficient * index of an extent) over ``terms``; those extents do not move the table.
    """

    indices: Indices
    rows: int
    row_bytes: int
    terms: tuple[tuple[str, int], ...]
    start: Affine = Affine()


@shared
class MatmulNest:
    """Which extents are rows (m), columns (n), reduction (k) and batch of a MATMUL.

    ``windows``: pairs of m and k that share an axis of ``a``; only of an array whose dataflow asks for them.
    """

    m: tuple[str, ...]
    n: tuple[str, ...]
    k: tuple[str, ...]
    batch: tuple[str, ...] = ()
    windows: tuple[Window, ...] = ()


@shared
class Command:
    """One tile command. ``role`` is the tensor role others are charged for when they wait on it.

    MATMUL: ``nest``, ``dtypes`` (inputs, weights); accumulates unless ``fresh`` holds (then starts from bias or 0);
    products outside its ``guards`` are 0, and none of the multiply-accumulates that count. They take their time.
    VECTOR: ``functions`` in order, ``passes`` (plain lane passes per element), ``slow`` (functions whose rate the chip
    states: exp, divide, sqrt, ...), ``dtypes`` (lane dtype,), ``guards``: the points that a reduction takes in.
    Elements = product of extents. ``mac`` multiplies in0 by in1 and adds up into out, from in2 (or 0) where ``fresh``
    holds.
    HOST: ``flops``, ``nbytes``; a launch of a kernel may name its operator in ``functions``. SETUP: ``nbytes``.
    MOVE: ``fill`` for clipped indices, in steps above the destination's zero (a move without reads fills it all),
    ``combine`` '' | 'add' | 'max', ``retains`` (see Ring).
    GATHER: ``index`` says which rows of the tensor ``src`` go to ``dst``; SCATTER: which rows of ``dst`` are written
    from ``src``, in order, so that of equal rows the last one stays. ``combine`` as of a MOVE.
    """

    name: str
    op: Op
    layer: str
    role: str = ""
    waits: tuple[Token, ...] = ()
    signals: tuple[Token, ...] = ()
    when: When = ()
    extents: tuple[Extent, ...] = ()
    reads: tuple[Region, ...] = ()
    writes: tuple[Region, ...] = ()
    nest: MatmulNest | None = None
    fresh: When = ()
    dtypes: tuple[str, ...] = ()
    functions: Functions = ()
    guards: tuple[CommandGuard, ...] = ()
    passes: int = 0
    slow: tuple[str, ...] = ()
    flops: int = 0
    nbytes: int = 0
    fill: int = 0
    combine: str = ""
    index: Lookup | None = None
    retains: bool = False

    def with_tokens(self, waits: tuple[Token, ...], signals: tuple[Token, ...]) -> Command:
        """The same that takes and gives other tokens. ``dataclasses.replace`` asks for each field by its name, which
        takes eight times as long; a Program of many cores is made of such copies.
        """
        return Command(
            self.name, self.op, self.layer, self.role, waits, signals, self.when, self.extents, self.reads,
            self.writes, self.nest, self.fresh, self.dtypes, self.functions, self.guards, self.passes, self.slow,
            self.flops, self.nbytes, self.fill, self.combine, self.index, self.retains,
        )  # fmt: skip

    @property
    def table(self) -> Region | None:
        """The operand whose rows are looked up: the source of a GATHER, the destination of a SCATTER."""
        if self.index is None:
            return None
        return (self.reads if self.op == "GATHER" else self.writes)[0]

    @property
    def function(self) -> str:
        """``add+relu``: the names of its functions."""
        return names(self.functions)


@shared
class CommandLoop:
    """Repeat ``body`` for ``var`` = 0 .. trips-1. A variable has one loop per queue (its layer's name leads)."""

    var: str
    trips: int
    body: tuple[ProgramNode, ...]


ProgramNode = CommandLoop | Command


@shared
class Queue:
    """The in-order command stream of one engine instance. ``unit`` names the chip part that runs it."""

    name: str
    engine: EngineKind
    unit: str
    body: tuple[ProgramNode, ...]


@shared
class StateExtent:
    """Of a state: rows [0, ``length``) along memory axis ``axis`` hold data at time 0."""

    length: int
    axis: int = 0


@shared
class PlacedTensor:
    """A named address range. ``shape``, ``strides`` (bytes) and ``origin`` (byte of the first element) are its layout.

    ``preloaded``: holds data at time 0. An element q stands for (q - ``zero``) * ``scale``. ``state``: some rows of it
    do, and what it holds at the end lives on: nothing else lies there at any time. ``ragged``: some of it may never be
    written and still be read, by commands whose guards leave it out.
    """

    name: str
    memory: str
    base: int
    size_bytes: int
    dtype: str
    role: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    preloaded: bool = False
    origin: int = 0
    scale: float = 1.0
    zero: int = 0
    state: StateExtent | None = None
    ragged: bool = False


@shared
class Ring:
    """``slots`` x ``slot_bytes`` at ``base`` of ``memory``; ``scale``, ``zero`` and ``ragged`` as of a tensor; see the
    module."""

    name: str
    memory: str
    base: int
    slot_bytes: int
    slots: int
    role: str
    dtype: str
    writer: str
    readers: tuple[str, ...]
    retain: int = 0
    scale: float = 1.0
    zero: int = 0
    ragged: bool = False
    span: int = 0

    @property
    def size_bytes(self) -> int:
        """Bytes held in the memory."""
        return self.span or self.slot_bytes * self.slots


@shared
class Semaphore:
    """A counting semaphore: waited on by exactly one queue, signalled by any."""

    name: str
    initial: int = 0


@shared
class Program:
    """Everything the machine needs. ``layers``: names in execution order, for attribution only."""

    name: str
    chip: str
    layers: tuple[str, ...]
    tensors: tuple[PlacedTensor, ...]
    rings: tuple[Ring, ...]
    semaphores: tuple[Semaphore, ...]
    queues: tuple[Queue, ...]
