"""Moves over the network: between a memory above it and one below, or between two cores.

What crosses is cut in parts of at most ``message_bytes``, in the order in which the move goes through its addresses
(``parts``); each is one message of ceil(bytes / link bytes) flits beside headers, and goes through the port of the
shared memory that its first byte's address names (``noc.fabric``). Several cores get one message with several targets;
what stays in a core or above the network does not cross.

Read from DRAM: a request of ``request_flits`` goes from the engine's core to each port in use (0: none); when it has
arrived, all parts of that port are asked of the DRAM at once, and each enters the network when its last byte was read.
Write to DRAM: all parts enter at the start, each is written when it has arrived whole. SRAM above the network: parts
enter at once (reads after the request), while its ports stream. Core to core: parts enter at once, without a request.
The move ends when the last part has arrived, or was written, and all streams on ports have ended.

GATHER and SCATTER go alike: so many rows as fit together are a part, which the engine comes to when it has issued the
rows before, ``row_setup`` each; a row that is longer is read whole and goes on as several messages.

With ``outstanding`` n, a part is asked of the DRAM, in order, when its bursts (or rows) and those under way for the
move are n at most, or none is under way; inside a part the limit holds burst by burst. The borders of clock domains are
those of DRAM: what a model ends is seen at the first edge at or after it of who goes on, and a model sees it at its
first edge after that.

Not modelled: a shared SRAM that is slower than the network does not hold up messages; the streams on ports go on evenly
beside them, no faster than the link of a core carries the flits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from archsim.base.arrays import IntArray
from archsim.base.errors import NotBuiltError
from archsim.ir.footprint import footprint
from archsim.ir.program import Region
from archsim.ir.streams import rows_of
from archsim.ir.unroll import Step
from archsim.memory.byte_runs import ByteRuns
from archsim.memory.dram.interface import RowList
from archsim.memory.dram_side import DramSide
from archsim.memory.journey import Journey, PartFreight
from archsim.memory.move_routes import FabricView, MemoryWay, MoveRoute, MoveSide, RouteFinder
from archsim.memory.offchip import OffChip, TransferShape, asker_of
from archsim.sim.clock import ClockDomain
from archsim.sim.events import Event
from archsim.sim.stores import OperandStores
from archsim.sim.tile_engine import EngineSurroundings
from archsim.spec.architecture import Dma
from archsim.spec.network import core_of


class NetworkCrossings:
    """The way of a DMA engine's moves to the network. ``rank``: the engine's, where they meet in one instant.

    ``asker``: the engine, where it offers so many bursts a cycle and no more.
    """

    def __init__(
        self, around: EngineSurroundings, fabric: FabricView, clock: ClockDomain, core: int, rank: int, spec: Dma
    ) -> None:
        self.fabric = fabric
        self.routes = RouteFinder(fabric, core)
        self._around = around
        self._clock = clock
        self._node = fabric.node(core)
        self._rank = rank
        self._outstanding = spec.outstanding
        self.asker = asker_of(spec, rank)

    def journey(self, step: Step) -> Journey:
        """Of a command that starts now."""
        return Journey(
            self._around.event_loop, self.fabric, self._clock, self._node, (self._rank, step), self._outstanding
        )

    def begin(self, step: Step, routes: Sequence[MoveRoute]) -> Journey:
        """Start all of ``routes`` now."""
        journey = self.journey(step)
        for route in routes:
            side = route.side
            address = self._address(step, side) if side is not None else 0
            if side is None or side.leg is None:
                journey.ship(self.routes.load(route, address))
            else:
                journey.start(route.way, self._freight(journey, route, side.leg, address))
        return journey

    def _freight(self, journey: Journey, route: MoveRoute, leg: DramSide, address: int) -> list[PartFreight]:
        """The parts of a route from or to a DRAM."""
        starts = [address + part.offset for part in route.parts]

        def transfer(leg: DramSide, shape: TransferShape, at: int, clock: ClockDomain, port: int) -> Event:
            return leg.dram.submit(journey.order(), shape, at, clock, engine=self.asker, port=port)

        return [
            PartFreight(at, flits, leg.dram, partial(transfer, leg, ask.shape, at), ask.bursts)
            for at, flits, ask in zip(starts, route.messages, route.asks, strict=True)
        ]

    def _address(self, step: Step, side: MoveSide) -> int:
        """Of the first byte touched; the cache forgets what is written past it."""
        stores, region = self._around.stores, step.operand(side.operand)
        if side.leg is None:
            return stores.slot_address(step, region) + region.offset.at(step.env) + side.shift
        address = stores.address(step, region) + region.offset.at(step.env) + side.shift
        side.leg.drop(address)
        return address


class RowCrossing:
    """Sends the rows of GATHERs and SCATTERs for a DMA engine."""

    def __init__(self, crossings: NetworkCrossings, stores: OperandStores, spec: Dma) -> None:
        self._crossings = crossings
        self._stores = stores
        self._spec = spec

    def begin(self, step: Step, table: Region, dram: OffChip | None, runs: ByteRuns | None) -> Journey | None:
        """Start to move the rows of ``table``; None when none of them cross.

        ``dram``: where the table is, if there, and ``runs``: what moves there.
        """
        rows, row_bytes = rows_of(step), footprint(table, step).size_bytes
        journey = self._crossings.journey(step)
        for way, side in self._ways(step):
            if (
                side is step.command.table
                and dram is not None
                and step.command.op == "SCATTER"
                and step.command.combine
            ):
                raise NotBuiltError(
                    f"{step.where} of {step.queue}: combine '{step.command.combine}' onto rows in DRAM over a network; "
                    "combine in a memory of a core and scatter what results"
                )
            there = dram if side is table else None
            freight = self._freight(step, journey, self._addresses(step, side, rows, row_bytes), row_bytes, there, runs)
            journey.start(way, list(freight))
        return journey if journey.left else None

    def _ways(self, step: Step) -> Iterator[tuple[MemoryWay, Region | None]]:
        """Each way with the operand at its end above the network (None: between cores)."""
        node, memory = self._crossings.fabric.node, self._stores.memory
        (source,) = step.command.reads
        home = core_of(memory(step, source))
        cores = dict.fromkeys(core_of(memory(step, target)) for target in step.command.writes)
        nodes = tuple(node(core) for core in cores if core not in (None, home))
        if home is None:
            if nodes:
                yield MemoryWay(memory(step, source), None, nodes), source
            return
        if nodes:
            yield MemoryWay("", node(home), nodes), None
        for target in step.command.writes:
            if core_of(memory(step, target)) is None:
                yield MemoryWay(memory(step, target), node(home), ()), target

    def _addresses(self, step: Step, side: Region | None, rows: IntArray, row_bytes: int) -> IntArray:
        """Of the first byte of each row above the network."""
        if side is None:
            return np.zeros(len(rows), dtype=np.int64)
        start = self._stores.slot_address(step, side) + side.offset.at(step.env)
        if side is step.command.table and step.command.index is not None:
            return start + rows * step.command.index.row_bytes
        return start + np.arange(len(rows), dtype=np.int64) * row_bytes

    def _freight(
        self,
        step: Step,
        journey: Journey,
        addresses: IntArray,
        row_bytes: int,
        dram: OffChip | None,
        runs: ByteRuns | None,
    ) -> Iterator[PartFreight]:
        """Parts of whole rows: read in DRAM as the engine comes to them, else sent when it has been through them."""
        fabric, setup = self._crossings.fabric, self._spec.row_setup_cycles
        together = max(1, fabric.message_bytes // max(1, row_bytes))
        for low in range(0, len(addresses), together):
            high = min(len(addresses), low + together)
            messages = self._messages((high - low) * row_bytes)
            at, part = int(addresses[low]), _between(runs, low, high) if dram is not None else None
            if dram is None or part is None:
                yield PartFreight(at, messages, after_cycles=high * setup)
                continue
            paced = 0 if part.write else setup
            transfer = partial(self._transfer, journey, dram, part, high - low, paced)
            yield PartFreight(at, messages, dram, transfer, high - low, (high if part.write else low) * setup)

    def _transfer(
        self,
        journey: Journey,
        dram: OffChip,
        part: ByteRuns,
        rows: int,
        setup_cycles: int,
        clock: ClockDomain,
        port: int,
    ) -> Event:
        asked = RowList(rows, part.address, part.size_bytes, part.row, setup_cycles, self._spec.clock_hz)
        limit, engine = self._spec.outstanding, self._crossings.asker
        order = journey.order()
        return dram.submit_rows(order, asked, clock, write=part.write, outstanding=limit, engine=engine, port=port)

    def _messages(self, size_bytes: int) -> tuple[int, ...]:
        most, fabric = self._crossings.fabric.message_bytes, self._crossings.fabric
        return tuple(fabric.flits(min(most, size_bytes - at)) for at in range(0, size_bytes, most))


def _between(runs: ByteRuns | None, low: int, high: int) -> ByteRuns | None:
    """The runs of rows ``low`` to ``high``, counted from there; None where there are none."""
    if runs is None:
        return None
    first, last = np.searchsorted(runs.row, (low, high)).tolist()
    if first == last:
        return None
    part: Sequence[IntArray] = (runs.address[first:last], runs.size_bytes[first:last], runs.row[first:last] - low)
    return ByteRuns(runs.write, *part)
