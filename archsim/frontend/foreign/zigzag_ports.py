"""Ports of a ZigZag memory in both forms as bits a cycle of each direction."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from archsim.frontend.foreign.section import Quantity, Section

_ALLOCATION = "which port serves which movement of which operand; here all movements of a direction share its ports"
_LEAST = "an access of less counts as a whole word here"


@dataclass(frozen=True)
class Ports:
    """``width``: bits of an access; ``read``, ``write``: bits a cycle over all ports; ``count`` of shared ports."""

    width: Quantity
    read: Quantity
    write: Quantity
    shared: bool
    count: int


def ports_of(memory: Section) -> Ports:
    """The ports of a memory. Raises ConfigError where they are not stated."""
    listed = memory.entries("ports")
    if any("type" in port for port in listed):
        return _named(memory, listed)
    for port in listed:
        port.ignore(_ALLOCATION)
    return _counted(memory)


def _counted(memory: Section) -> Ports:
    """``r_port``, ``w_port``, ``rw_port`` ports of ``r_bw`` and ``w_bw`` bits."""
    read, write = (_width(memory, key) for key in ("r_bw", "w_bw"))
    counts = [memory.number(key, "ports") for key in ("r_port", "w_port", "rw_port")]
    reads, writes, both = (int(count.value) if count is not None else 0 for count in counts)
    return _ports(memory, read, write, reads, writes, both)


def _width(memory: Section, key: str) -> Quantity:
    found = memory.number(key, "word, banks and ports")
    if found is None or found.value <= 0:
        memory.fail(f"key '{key}' is missing or 0; allowed bits a cycle, or named ports with bandwidth_max")
    return found


def _named(memory: Section, listed: list[Section]) -> Ports:
    """Ports with a type and a width each."""
    kinds: dict[str, list[Quantity]] = {"read": [], "write": [], "read_write": []}
    for port in listed:
        kind = port.text("type", "ports")
        if kind not in kinds:
            port.fail(f"found '{kind}'; allowed {', '.join(kinds)}", "type")
        width = port.number("bandwidth_max", "word, banks and ports")
        if width is None or width.value <= 0:
            port.fail("key 'bandwidth_max' is missing or 0; allowed bits a cycle")
        kinds[kind].append(width)
        port.ignore(_ALLOCATION, "allocation", "name")
        port.ignore(_LEAST, "bandwidth_min")
    reading, writing = kinds["read"] + kinds["read_write"], kinds["write"] + kinds["read_write"]
    if not reading or not writing:
        memory.fail("needs a port that reads and one that writes", "ports")
    widths = {width.value for width in reading + writing}
    if len({width.value for width in reading}) > 1 or len({width.value for width in writing}) > 1:
        memory.ledger.assume(
            f"{memory.path.rpartition('.')[2]}.ports",
            f"ports of {', '.join(str(width) for width in sorted(widths))} bits as so many of the first one's width",
        )
    return _ports(memory, reading[0], writing[0], len(kinds["read"]), len(kinds["write"]), len(kinds["read_write"]))


def _ports(memory: Section, read: Quantity, write: Quantity, reads: int, writes: int, both: int) -> Ports:
    if not (reads or both) or not (writes or both):
        memory.fail("needs a port that reads and one that writes: r_port and w_port, or rw_port")
    shared = bool(both) and not reads and not writes
    if both and not shared:
        name = memory.path.rpartition(".")[2]
        said = "a port for either direction counts as one of each"
        memory.ledger.assume(f"{name}.ports", f"{reads + both} to read, {writes + both} to write: {said}")
    width = max(read, write, key=lambda each: each.value)
    every = Fraction(1)
    return Ports(
        width,
        read.scaled(every * (reads + both)),
        write.scaled(every * (writes + both)),
        shared,
        both if shared else 1,
    )
