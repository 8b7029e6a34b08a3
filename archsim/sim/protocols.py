"""What an engine is to the queue that drives it, and what the on-chip memories are to an engine.

Engines live in rooms that do not know one another; they meet here. A queue calls ``execute`` for the command at its
head, when its waits are met; the body yields events until the command has ended on an edge of the engine's clock.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from fractions import Fraction
from typing import Any, NamedTuple, Protocol

from archsim.ir.footprint import ByteFootprint
from archsim.ir.unroll import Step
from archsim.sim.clock import ClockDomain
from archsim.sim.events import Event

Cycles = int | Fraction
Phases = tuple[tuple[str, int], ...]


class CommandOutcome(NamedTuple):
    """How a command went; fields as in ``Record``."""

    phases: Phases = ()
    macs: int = 0
    slots_per_cycle: int = 0


Execution = Generator[Event, Any, CommandOutcome]


class ConflictFacts(NamedTuple):
    """A stream that loads some banks more than others: ``unit`` x ``loads`` of each, turned by as many banks as it lies
    granules from address 0, modulo the ``period``; it lies ``shift`` bytes from where ``operand`` begins. Without an
    operand ``shift`` is that many banks.
    """

    operand: int | None
    shift: int
    granule: int
    period: int
    loads: tuple[int, ...]
    unit: Fraction


class ShareFacts(NamedTuple):
    """What a command takes of a port at full pace: of the ``way`` of a memory, of a core's own where it has one.

    ``even``: what its streams without conflicts take; ``peak``: by how much one bank is loaded more, rounded.
    """

    memory: str
    core: int | None
    way: str
    share: Fraction
    even: Fraction
    peak: float
    conflicts: tuple[ConflictFacts, ...]


class StreamFacts(NamedTuple):
    """The streams of a command: cycles when no port is short, the same rounded up, shares of ports."""

    cycles: Fraction
    whole_cycles: int
    shares: tuple[ShareFacts, ...]


class PlanFacts(NamedTuple):
    """What is known of a command before it runs. ``kind``: array, vector, move or launch.

    ``ends``: of its stages, in cycles; ``streams``, ``bill``: of a command that does something, its streams and the
    actions to be counted; of a move ``setup`` cycles before all, ``own`` cycles of one that stays on chip, transfers
    (``legs``) of a DRAM, whether it ``travels`` over a network and ``reads`` from DRAM; ``outer``: its one operand
    outside its core, if by that one's address alone its transfers can be begun again (-1: without any).
    """

    kind: str
    streams: CommandStreams | None
    bill: Any
    ends: tuple[int, ...] = ()
    macs: int = 0
    slots_per_cycle: int = 0
    setup: int = 0
    own: int = 0
    legs: int = 0
    travels: bool = False
    reads: bool = False
    outer: int | None = None


class Parcel(NamedTuple):
    """What a move asks of a model that runs in compiled code: ``what``, as the model knows it, ``shift`` bytes from
    where its outer operand begins. ``model``: its number in the event loop; ``number``: of those of the move; whether
    it ``travels`` over a network, or is a transfer of a DRAM.
    """

    model: int
    what: int
    number: int
    shift: int
    travels: bool


class Engine(Protocol):
    """Runs one command at a time."""

    clock: ClockDomain

    def execute(self, step: Step) -> Execution:
        """Run ``step`` from this instant, an edge, to its end, an edge; raises ProgramError for what it cannot run."""


class PipelinedCommand(NamedTuple):
    """A command on its way in a pipelined engine: when it ends, when the next one may start."""

    end_ps: int
    free_ps: int


class Pipeline(Protocol):
    """Runs several commands at once, ends in order: the host."""

    clock: ClockDomain

    def launch(self, step: Step, start_ps: int) -> PipelinedCommand:
        """Start ``step`` at ``start_ps``."""


class StreamPlace(NamedTuple):
    """Where a stream goes: over what is ``touched`` of an operand, again and again, in address order.

    ``operand``: its number among what the command reads, then writes; ``shift``: bytes from the region's own offset to
    the first byte touched; ``first_byte``: the address of that, as far as the cycles of the stream depend on it
    (``Storage.address_granule``).
    """

    touched: ByteFootprint
    operand: int
    shift: int = 0
    first_byte: int = 0


class Demand(NamedTuple):
    """Bytes and whole word accesses of a command on an on-chip memory in one direction.

    ``lost_cycles``: cycles of the memory's clock that it takes at the banks beyond contiguous words; ``place``: where.
    """

    memory: str
    write: bool
    size_bytes: int
    accesses: int
    lost_cycles: Cycles = 0
    place: StreamPlace | None = None


class RunningStreams(Protocol):
    """Streams under way."""

    @property
    def event(self) -> Event:
        """Happens at the end; read it when about to wait, for it is replaced when the end moves."""

    @property
    def ended(self) -> bool:
        """Whether the end has happened."""

    @property
    def end_ps(self) -> int:
        """When it has ended, the time of that."""


class CommandStreams(Protocol):
    """The streams of a command, ready to start: natural duration and demands on ports."""

    @property
    def cycles(self) -> Cycles:
        """Duration when no port is short, in cycles of the engine's clock."""

    @property
    def demands(self) -> tuple[Demand, ...]:
        """What is moved, one for each memory and direction."""

    @property
    def places(self) -> tuple[StreamPlace, ...]:
        """Where the streams go that load some banks more than others."""

    def at(self, first_bytes: tuple[int, ...]) -> CommandStreams:
        """The same with the ``places`` at these addresses."""

    def begin(self) -> RunningStreams:
        """Start at the present instant, an edge of the engine's clock."""


class Storage(Protocol):
    """The on-chip memories, as one engine sees them over its ports."""

    def demand(
        self,
        memory: str,
        size_bytes: int,
        *,
        write: bool,
        accesses: int | None = None,
        place: StreamPlace | None = None,
    ) -> Demand:
        """A stream of ``size_bytes``; ``accesses`` and ``place`` unless its bytes are contiguous.

        Raises ProgramError when ``memory`` is not on chip.
        """

    @property
    def granular(self) -> bool:
        """Whether addresses matter in any memory: whether any has an ``address_granule`` above 1."""

    def word_bytes(self, memory: str) -> int:
        """Bytes of one word; raises ProgramError when ``memory`` is not on chip."""

    def address_granule(self, memory: str) -> int:
        """Addresses that differ by a multiple of this cost the same (1: all addresses do, also in other memories)."""

    def shortest(self, demands: Sequence[Demand], clock: ClockDomain) -> Fraction:
        """Cycles of ``clock`` that ``demands`` take at least, alone on their ports, without conflicts in banks."""

    def streams(self, demands: Sequence[Demand], cycles: Cycles, clock: ClockDomain) -> CommandStreams:
        """Streams of a command of ``cycles`` cycles, or as many more as its slowest stream takes at the banks.

        Raises ProgramError when bytes are to move in no time.
        """

    def moved(self, streams: Any, core: int | None, to: int | None) -> Any:
        """The same ``streams`` with the memories of one core in place of another's."""


class OnChip(Protocol):
    """The on-chip memories of the chip."""

    def seen_by(self, engine: str) -> Storage:
        """The memories over the ports of a kind of engine: dma, array, vector."""
