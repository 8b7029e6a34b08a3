"""The chip grammar of memories: dram, cache, sram, registers."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from archsim.base import units
from archsim.spec import value_domains as d
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
    `width`, `channels`, `fidelity` and what a controller is told (`address_map` to `requests`).
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
    fidelity: Annotated[str, d.choice("exact", "fast")] = Field(
        "exact",
        description="timing model: exact, command by command; fast, rates that were measured on the exact one",
    )
    address_map: Annotated[str, d.text("the name of an address map or an order of bits")] = Field(
        "RoRaBaCoBg",
        description="which address bits choose channel, bank and row: RoRaBaCoBg, RoBaRaCoCh, MOP4CLXOR (all with the "
        "channel lowest), or fields from the highest bit to the lowest, such as "
        "`row bank bankgroup rank column:5 channel column:2`; `bank^row`, `bank^row@2`: the row's bits (from "
        "the third one on) are XORed into the bank",
    )
    rows: Annotated[str, d.choice("open", "closed", "timeout")] = Field(
        "open", description="when a row is closed: on demand, after its last queued access, or when left idle"
    )
    row_timeout: Annotated[int, d.whole(units.TIME, "1 ns", "1 ms")] = Field(
        100_000, description="for which a row may be idle with `rows: timeout`; 100 ns is about two row cycles"
    )
    refresh: Annotated[str, d.choice("all_bank", "per_bank", "none")] = Field(
        "all_bank", description="all banks of a rank at once, bank by bank where the standard has it, or none"
    )
    read_queue: Annotated[int, d.count(1, 128)] = Field(32, description="bursts that a channel can queue to read")
    write_queue: Annotated[int, d.count(1, 128)] = Field(32, description="bursts that a channel can queue to write")
    turn: Annotated[int, d.count(1, 65536)] = Field(
        16, description="bursts of a move that a channel takes in before those of the next one that is under way"
    )
    requests: Annotated[int, d.count(1, 65536)] | None = Field(
        None,
        description="bursts that a port of this memory (one for each place in `attach` of a network, else one for all "
        "engines) offers in a cycle of the memory's clock, over all channels; one that finds its queue full stops "
        "those behind it. Unless stated as many as the queues take in: up to 8 a cycle each",
    )
    bandwidth: (
        Annotated[
            d.MeasuredQuantity | None,
            d.measured("more than 0", units.BANDWIDTH, units.BYTES_PER_CYCLE, positive=True, endless="infinite"),
        ]
        | None
    ) = Field(None, description="constant rate; required with `standard: constant`, refused otherwise")
    latency: Cycles = Field(NONE_CYCLES, description="from request to first byte; `standard: constant` only")


class EnginePorts(Section):
    """Ports that one kind of engine has to itself, in every bank; a direction left out goes over the common ports."""

    read: Annotated[int, d.count(1, 64)] | None = Field(None, description="read ports of its own")
    write: Annotated[int, d.count(1, 64)] | None = Field(None, description="write ports of its own")
    shared: Annotated[int, d.count(1, 64)] | None = Field(
        None, description="ports of its own that either read or write in a cycle, in place of `read` and `write`"
    )


class Ports(Section):
    """`ports` of every bank of a memory: each serves one word per bank and cycle.

    Engines without ports of their own share the common ones.
    """

    read: Annotated[int, d.count(1, 64)] | None = Field(
        None, description="common read ports (1 unless `shared` is given)"
    )
    write: Annotated[int, d.count(1, 64)] | None = Field(
        None, description="common write ports (1 unless `shared` is given)"
    )
    shared: Annotated[int, d.count(1, 64)] | None = Field(
        None, description="common ports that either read or write in a cycle, in place of `read` and `write`"
    )
    dma: EnginePorts | None = Field(None, description="ports of the DMA engines alone, such as `{write: 1}`")
    array: EnginePorts | None = Field(None, description="ports of the arrays alone, such as `{read: 2}`")
    vector: EnginePorts | None = Field(None, description="ports of the vector units alone")


ENGINES = ("dma", "array", "vector")


def _engine_ports() -> Any:
    return EnginePorts.model_validate({})


def _ports() -> Any:
    return Ports.model_validate({})


class Sram(Storage):
    """`sram`: an on-chip memory. Bandwidth of each direction = banks x word x ports, per cycle.

    Regions whose words meet in few banks take longer: the rule is in `archsim/memory/banks.py`.
    """

    size: Size = Field(description="capacity")
    banks: Annotated[int, d.count(1, 65536)] = Field(1, description="banks")
    word: Annotated[int, d.whole(units.SIZE, "1 B", "64 KiB")] = Field(description="bytes per access of one bank")
    ports: Ports = Field(
        default_factory=_ports,
        description="ports of every bank: `{read: 1, write: 1}`, `{shared: 1}`, some of them an engine's own: "
        "`{read: 1, write: 1, dma: {write: 1}}`",
    )
    interleave: Annotated[str | int, d.word_or_whole(("word", "xor"), units.SIZE, "1 B", "16 TiB")] = Field(
        "word",
        description="bank of a word: word: its number mod banks; a size, a multiple of the word: (address / size) mod "
        "banks; xor: (number mod banks) xor ((number / banks) mod banks), banks a power of two",
    )
    padding: Annotated[
        dict[Annotated[str, d.choice("all", *ROLES)], Annotated[int, d.count(0, 65536)]],
        BeforeValidator(for_all),
    ] = Field(
        {"all": 0},
        description="words left free behind each row (innermost axis) of a tile kept here, one number or a number for "
        "each role: rows that would begin in one bank begin in different ones",
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
    ports: EnginePorts = Field(
        default_factory=_engine_ports, description="ports of every bank: `{read: 1, write: 1}` or `{shared: 1}`"
    )
