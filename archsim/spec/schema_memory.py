"""The chip grammar of memories: dram, cache, sram, registers."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from archsim import units
from archsim.spec import domains as d
from archsim.spec.architecture import ROLES
from archsim.spec.schema_base import NONE_CYCLES, Cycles, Part, Section, Size, for_all


class Storage(Part):
    """Keys that every memory has."""

    keeps: Annotated[tuple[str, ...], d.subset(ROLES, "all")] = Field(
        description="tensor roles with a place here; a role's path runs through its keepers in order"
    )
    slots: Annotated[
        dict[Annotated[str, d.choice("all", *ROLES)], Annotated[int, d.count(1, 1024)]],
        BeforeValidator(for_all),
    ] = Field({"all": 2}, description="slots of the rings kept here, one number or a number for each role")


class Dram(Storage):
    """`dram`: memory outside the chip, where tensors lie at time 0. Peak = channels x width x speed.

    `standard: constant` is a memory of constant rate: it takes `bandwidth` and `latency` in place of `speed`,
    `width`, `channels` and `fidelity`.
    """

    standard: Annotated[str, d.name("the name of a DRAM standard, or constant")] = Field(
        description="a DRAM standard such as lpddr5 (`show dram`), or constant"
    )
    capacity: Size = Field(description="bytes of all channels together")
    speed: Annotated[int, d.whole(units.TRANSFER_RATE, "100 MT/s", "64 GT/s")] | None = Field(
        None, description="transfers per second of each data line (twice the clock of a double data rate bus)"
    )
    width: Annotated[int, d.whole(units.WIDTH, "1 b", "4096 b")] | None = Field(
        None, description="data lines of one channel"
    )
    channels: Annotated[int, d.count(1, 1024)] = Field(1, description="independent channels")
    fidelity: Annotated[str, d.choice("open_row", later=("exact", "fast"))] = Field(
        "open_row", description="timing model: channels, banks and open rows"
    )
    bandwidth: (
        Annotated[
            d.Measured | None,
            d.measured("more than 0", units.BANDWIDTH, units.BYTES_PER_CYCLE, positive=True, endless="infinite"),
        ]
        | None
    ) = Field(None, description="constant rate; required with `standard: constant`, refused otherwise")
    latency: Cycles = Field(NONE_CYCLES, description="from request to first byte; `standard: constant` only")


class Ports(Section):
    """`ports` of a memory: each moves one word per bank and cycle."""

    read: Annotated[int, d.count(1, 64)] | None = Field(None, description="read ports (1 unless `shared` is given)")
    write: Annotated[int, d.count(1, 64)] | None = Field(None, description="write ports (1 unless `shared` is given)")
    shared: Annotated[int, d.count(1, 64)] | None = Field(
        None, description="ports that either read or write in a cycle, in place of `read` and `write`"
    )


def _ports() -> Any:
    return Ports.model_validate({})


class Sram(Storage):
    """`sram`: an on-chip memory. Bandwidth of each direction = banks x word x ports, per cycle."""

    size: Size = Field(description="capacity")
    banks: Annotated[int, d.count(1, 65536)] = Field(1, description="banks")
    word: Annotated[int, d.whole(units.SIZE, "1 B", "64 KiB")] = Field(description="bytes per access of one bank")
    ports: Ports = Field(
        default_factory=_ports, description="ports of every bank: `{read: 1, write: 1}` or `{shared: 1}`"
    )
    filled_by: Annotated[str, d.choice("dma", "array")] = Field(
        "dma",
        description="dma: explicit, rings and moves in the Program; array: folded into the array's formula",
    )


class Registers(Storage):
    """`registers`: a folded memory above the array, e.g. operand latches; a PE's own are in `array`."""

    size: Size = Field(description="capacity")


class Cache(Part):
    """`cache`: set-associative lines in front of the DRAM, for gathers and scatters; moves pass it by.

    Sets = size / (ways x line). Bandwidth of each direction = banks x word x ports, per cycle.
    """

    keeps: Annotated[tuple[str, ...], d.subset(ROLES)] = Field(description="roles of the tables that it serves")
    size: Size = Field(description="capacity of the lines, without tags")
    line: Annotated[int, d.whole(units.SIZE, "1 B", "64 KiB")] = Field(description="bytes of a line, a power of two")
    ways: Annotated[int, d.count(1, 512)] = Field(description="lines of a set")
    policy: Annotated[str, d.choice("lru")] = Field("lru", description="the line of a set that makes room")
    latency: Cycles = Field(NONE_CYCLES, description="of a look-up; look-ups of the rows of a command are pipelined")
    banks: Annotated[int, d.count(1, 65536)] = Field(1, description="banks")
    word: Annotated[int, d.whole(units.SIZE, "1 B", "64 KiB")] = Field(description="bytes per access of one bank")
    ports: Ports = Field(
        default_factory=_ports, description="ports of every bank: `{read: 1, write: 1}` or `{shared: 1}`"
    )
