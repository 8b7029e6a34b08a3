"""A DRAM part as the DMA engines see it: transfers in, completions out, pin traffic charged to layers.

The model behind it (exact, open rows, constant rate) is simulated beside the event loop; transfers of one instant
reach it in the order of their queue, then of their command.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from math import prod
from typing import NamedTuple

from archsim.base.units import PS_PER_S
from archsim.facts.dram import catalogue
from archsim.facts.dram.bit_order import mapped
from archsim.ir.activity import DramStats, edge_ps
from archsim.ir.footprint import ByteFootprint
from archsim.ir.rows import Bandwidth
from archsim.memory.dram.constant import ConstantRateMemory
from archsim.memory.dram.controller import DramController
from archsim.memory.dram.fast_model import FastDram
from archsim.memory.dram.in_code import DramInCode, DramPartInCode
from archsim.memory.dram.interface import BurstAsker, DramModel, RowList, Transfer, TransferCompletion
from archsim.memory.policy import policy_of
from archsim.sim.clock import ClockDomain
from archsim.sim.events import Event, EventLoop
from archsim.sim.tally import Tally
from archsim.spec.architecture import Dma
from archsim.spec.memories import DramControl, Memory

CONSTANT = "constant"  # the standard of a plain constant-rate memory
DIRECT = -1  # the port of a memory that engines reach without a network
PINS = ("pin_read_bytes", "pin_write_bytes")
ACTIONS = (*PINS, "row_hits", "row_misses", "row_conflicts", "activates")  # charged to layers


class TransferShape(NamedTuple):
    """A transfer without its address.

    ``least_ps``: what it takes at least; ``outstanding``: bursts under way at most.
    """

    write: bool
    run_bytes: int
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    least_ps: int
    outstanding: int | None = None


def asker_of(spec: Dma, rank: int) -> BurstAsker | None:
    """A DMA engine, the ``rank``-th of all, where it offers so many bursts a cycle and no more."""
    return None if spec.requests is None else BurstAsker(("engine", rank), spec.requests, spec.clock_hz)


class OffChip:
    """One DRAM part. ``peak_bytes_per_s``: of its data pins, None when infinite.

    Raises ConfigError for a standard, speed or width that does not exist.
    """

    def __init__(self, spec: Memory, event_loop: EventLoop, tally: Tally) -> None:
        self.name = spec.name
        self.model = build_model(spec)
        self.peak_bytes_per_s = self.model.peak_bytes_per_s
        self._event_loop = event_loop
        self._tally = tally
        self._number = event_loop.attach(self.model)
        self._ids = count()
        self._charged: dict[str, list[int]] = {}  # by layer, amounts of ACTIONS
        model = self.model
        if isinstance(model, DramInCode):
            model.is_traced = tally.is_traced
        self._port_requests = spec.control.requests
        self._burst_bytes = model.dram.device.burst_bytes if isinstance(model, DramPartInCode) else 0

    def submit(
        self,
        order: tuple[int, ...],
        shape: TransferShape,
        address: int,
        clock: ClockDomain,
        *,
        engine: BurstAsker | None = None,
        port: int = DIRECT,
    ) -> Event:
        """Move the bytes of ``shape`` from ``address`` on; the event has the Completion, at an edge of ``clock``.

        ``order`` sorts the transfers of one instant; ``engine`` asks for it, through ``port`` of the memory.
        """
        transfer = self._transfer(next(self._ids), shape, address, engine, port)
        return self._event_loop.submit(self._number, order, transfer, clock, shape.least_ps)

    def known(self, shape: TransferShape, engine: BurstAsker | None) -> tuple[int, int] | None:
        """By which model and number the compiled machine asks for transfers of a shape; None where Python has to."""
        if not isinstance(self.model, DramInCode):
            return None
        return self._number, self.model.shape(self._transfer(0, shape, 0, engine, DIRECT))

    def _transfer(
        self, number: int, shape: TransferShape, address: int, engine: BurstAsker | None, port: int
    ) -> Transfer:
        write, run_bytes, extents, strides, _, outstanding = shape
        return self._asked(Transfer(number, write, address, run_bytes, extents, strides, outstanding), engine, port)

    def submit_rows(
        self,
        order: tuple[int, ...],
        rows: RowList,
        clock: ClockDomain,
        *,
        write: bool,
        outstanding: int | None,
        engine: BurstAsker | None = None,
        port: int = DIRECT,
    ) -> Event:
        """Move ``rows``, as ``submit``; ``outstanding``: rows under way at most."""
        transfer = Transfer(next(self._ids), write, 0, 0, outstanding=outstanding, rows=rows)
        transfer = self._asked(transfer, engine, port)
        least_ps = self.model.least_ps(int(rows.sizes.sum()), write=write)
        return self._event_loop.submit(self._number, order, transfer, clock, least_ps)

    def _asked(self, transfer: Transfer, engine: BurstAsker | None, port: int) -> Transfer:
        """The transfer with those who offer so many bursts of it a cycle and no more."""
        askers: tuple[BurstAsker, ...] = () if engine is None else (engine,)
        model = self.model
        if self._port_requests is not None and isinstance(model, DramPartInCode):
            askers += (BurstAsker(("port", port), self._port_requests, model.dram.device.clock_hz),)
        return replace(transfer, askers=askers) if askers else transfer

    def shape(self, touched: ByteFootprint, *, write: bool, outstanding: int | None = None) -> TransferShape:
        """What a transfer of ``touched`` is, wherever it starts."""
        least_ps = self.model.least_ps(touched.size_bytes, write=write)
        extents = tuple(extent for extent, _ in touched.outer)
        strides = tuple(stride for _, stride in touched.outer)
        return TransferShape(write, touched.run_bytes, extents, strides, least_ps, outstanding)

    def bursts(self, shape: TransferShape) -> int:
        """Bursts of a transfer at most; 0 of a memory that has none."""
        runs = prod(shape.extents)
        return runs * (shape.run_bytes // self._burst_bytes + 2) if self._burst_bytes else 0

    def charge(self, layer: str, completion: TransferCompletion) -> None:
        """Count what a transfer of ``layer`` cost on the pins and in rows."""
        done, tally = completion, self._tally
        rows = done.row_hits, done.row_misses, done.row_conflicts, done.activates
        pins = done.write, done.pin_bytes
        charged = self._charged.get(layer)
        if charged is None:
            charged = self._charged[layer] = [0] * len(ACTIONS)
        charged[done.write] += done.pin_bytes
        for place, amount in enumerate(rows, len(PINS)):
            charged[place] += amount
        tally.moved(Bandwidth(self.name, done.first_beat_ps, done.time_ps, done.useful_bytes, *pins, *rows))

    def settle(self, layers: Sequence[str]) -> None:
        """Count what the compiled machine has moved for each of its ``layers``."""
        if isinstance(self.model, DramInCode):
            for layer, amounts in zip(layers, self.model.charged.tolist(), strict=False):
                for action, amount in zip(ACTIONS, amounts, strict=True):
                    self._tally.add(layer, self.name, action, amount)
            self._tally.transfers(self.name, self.model.moved)

    def close(self) -> DramStats:
        """Totals; refreshes and the time of open rows are charged to no layer.

        To be called once the model has reached the end of the simulation.
        """
        stats = self.model.stats
        for layer, charged in self._charged.items():
            for action, amount in zip(ACTIONS, charged, strict=True):
                self._tally.add(layer, self.name, action, amount)
        self._charged.clear()
        self._tally.add("_static", self.name, "refreshes", self.model.rank_refreshes)
        self._tally.add("_static", self.name, "row_open_ps", stats.open_ps)
        return DramStats(
            read_bytes=stats.read_bytes,
            write_bytes=stats.write_bytes,
            useful_read_bytes=stats.useful_read_bytes,
            useful_write_bytes=stats.useful_write_bytes,
            row_hits=stats.row_hits,
            row_misses=stats.row_misses,
            row_conflicts=stats.row_conflicts,
            activates=stats.activates,
            refreshes=stats.refreshes,
            peak_bytes_per_s=int(self.peak_bytes_per_s or 0),
        )


def _controller(spec: Memory, control: DramControl) -> DramModel:
    dram = catalogue.dram(spec.standard, spec.speed_mts, spec.width_bits, spec.channels, spec.capacity_bytes)
    mapping, interleave = mapped(control.address_map, dram)
    made = FastDram if spec.fidelity == "fast" else DramController
    return made(dram, policy_of(control), mapping, interleave_bytes=interleave * dram.device.burst_bytes)


def build_model(spec: Memory) -> DramModel:
    """The model of a DRAM part."""
    if spec.standard != CONSTANT:
        return _controller(spec, spec.control)
    latency_ps = edge_ps(spec.latency_cycles, spec.clock_hz)
    if spec.bytes_per_cycle is None:
        return ConstantRateMemory(None, latency_ps)
    return ConstantRateMemory(spec.bytes_per_cycle * spec.clock_hz / PS_PER_S, latency_ps)
