"""What the compiler must be told of the chip's DRAM: peak rate, and the least that a move takes beside its beats.

The compiler does not see the machine's parts, so the lab reads the timings and hands these over. The latency is the
column access of an open row (CL, CWL), the least that any access takes, so that bounds stay bounds. What a move takes
that finds another row open is told beside it: mappings are ranked by that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from archsim.spec.architecture import Architecture
from archsim.spec.memories import Memory

if TYPE_CHECKING:
    from mapper.costs import Outer


def outer_rates(architecture: Architecture) -> dict[str, Outer]:
    """DRAM parts by name; one of infinite rate is left out."""
    found = {part.name: _outer(part) for part in architecture.memories if part.kind == "dram"}
    return {name: outer for name, outer in found.items() if outer is not None}


def _outer(part: Memory) -> Outer | None:
    from mapper.costs import Outer

    if part.standard == "constant":
        latency_s = part.latency_cycles / part.clock_hz
        rate = part.bytes_per_cycle
        return None if rate is None else Outer(float(rate * part.clock_hz), latency_s, latency_s)
    from archsim.memory.dram import catalogue

    dram = catalogue.dram(part.standard, part.speed_mts, part.width_bits, part.channels, part.capacity_bytes)
    device = dram.device
    read_s, write_s = device.read_latency / device.clock_hz, device.write_latency / device.clock_hz
    return Outer(float(dram.peak_bytes_per_s), read_s, write_s, device.burst_bytes, device.row_cycles / device.clock_hz)
