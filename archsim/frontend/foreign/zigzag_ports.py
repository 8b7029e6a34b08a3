"""Ports of a ZigZag memory in both forms as bits a cycle of each direction."""

from __future__ import annotations

from dataclasses import dataclass

from archsim.frontend.foreign.section import Quantity, Section

_ALLOCATION = "which port serves which movement of which operand; here all movements of a direction share its ports"
_LEAST = "an access of less counts as a whole word here"


@dataclass(frozen=True)
class Ports:
    """``width``: bits of the widest access; ``reads``, ``written``: of one that reads, of one that writes.

    ``read``, ``write``: bits a cycle over all ports; ``count`` of shared ports.
    """

    width: Quantity
    reads: Quantity
    written: Quantity
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
    shared, reads, writes = _directions(memory, *(int(count.value) if count is not None else 0 for count in counts))
    width = max(read, write, key=lambda each: each.value)
    return Ports(width, read, write, read.scaled(reads), write.scaled(writes), shared, reads if shared else 1)


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
    if any(len({width.value for width in way}) > 1 for way in (reading, writing)):
        memory.refuse(
            "ports of several widths: an access costs the same through each, so that a bit's energy depends on the "
            "port; here it is that of the widest one of a direction",
            "ports",
        )
    shared, _, _ = _directions(memory, len(kinds["read"]), len(kinds["write"]), len(kinds["read_write"]))
    width = max(reading + writing, key=lambda each: each.value)
    read, write = (max(way, key=lambda each: each.value) for way in (reading, writing))
    return Ports(width, read, write, _sum(reading), _sum(writing), shared, len(reading) if shared else 1)


def _sum(widths: list[Quantity]) -> Quantity:
    """Bits a cycle over all ports."""
    return widths[0].scaled(sum(width.value for width in widths) / widths[0].value)


def _directions(memory: Section, reads: int, writes: int, both: int) -> tuple[bool, int, int]:
    """Whether all ports serve both directions; ports that read, ports that write."""
    if not (reads or both) or not (writes or both):
        memory.fail("needs a port that reads and one that writes: r_port and w_port, or rw_port")
    shared = bool(both) and not reads and not writes
    if both and not shared:
        name = memory.path.rpartition(".")[2]
        said = "a port for either direction counts as one of each"
        memory.ledger.assume(f"{name}.ports", f"{reads + both} to read, {writes + both} to write: {said}")
    return shared, reads + both, writes + both
