"""What the compiler must be told of the chip's DRAM: peak rate, and the least that a move takes beside its beats.

The compiler does not see the machine's parts, so the lab reads the timings and hands these over. The latency is the
column access of an open row (CL, CWL), the least that any access takes, so that bounds stay bounds. What a move takes
that finds another row open is told beside it, and of a chip with several cores what is left of the peak when
several engines read at a time, refreshes included, as measured on the exact model: anywhere, and so far apart that they
are in the same bank at every instant. Mappings are ranked by these. Where engines or ports offer so many requests a
cycle, the rate of the memory is what all of them offer, if that is less, and that of one engine what it offers through
one port.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import TYPE_CHECKING

from archsim.facts.dram import catalogue
from archsim.lab.run.stream_rates import SampledRates, sampler_of
from archsim.spec.architecture import Architecture
from archsim.spec.memories import Memory

if TYPE_CHECKING:
    from archsim.facts.dram.device import DramChannel, DramMemory
    from mapper.cost.chip_rates import Outer

RUN_STEP = 2  # runs that are measured: each 4 times as long as the one before
RUNS_TOGETHER = 8  # runs of a tile that begin in the open rows of one bank of all channels, at the same place
Shares = tuple[tuple[int, tuple[tuple[int, float], ...]], ...]


def outer_rates(architecture: Architecture) -> dict[str, Outer]:
    """DRAM parts by name; one of infinite rate is left out."""
    found = {part.name: _outer(part, architecture) for part in architecture.memories if part.kind == "dram"}
    return {name: outer for name, outer in found.items() if outer is not None}


def _outer(part: Memory, architecture: Architecture) -> Outer | None:
    from mapper.cost.chip_rates import Outer

    if part.standard == "constant":
        latency_s = part.latency_cycles / part.clock_hz
        rate = part.bytes_per_cycle
        return None if rate is None else Outer(float(rate * part.clock_hz), latency_s, latency_s)
    dram = device_of(part)
    device = dram.device
    read_s, write_s = device.read_latency / device.clock_hz, device.write_latency / device.clock_hz
    row_s = device.row_cycles / device.clock_hz
    period = dram.channels * device.columns * device.all_banks * device.burst_bytes
    anywhere, aligned = (
        _shares(part, dram, architecture.cores, apart) if architecture.cores > 1 else () for apart in (0, period)
    )
    row_bytes = device.columns * device.burst_bytes
    peak = min([float(dram.peak_bytes_per_s), *_offered(part, architecture, device)])
    return Outer(
        peak, read_s, write_s, device.burst_bytes, row_s, row_bytes, dram.channels, anywhere, aligned, period,
        min(_of_engine(architecture, device), _of_port(part, device)),
        SampledRates(dram, part.control, architecture.dma),
    )  # fmt: skip


def _offered(part: Memory, architecture: Architecture, device: DramChannel) -> Iterator[float]:
    """Bytes that all ports of a DRAM, and all engines, offer in a second at most; infinite without a limit."""
    noc, dma = architecture.noc, architecture.dma
    places = () if noc is None else noc.shared.get(part.name, ())  # of a DRAM behind another memory none: one port
    yield max(1, len(places)) * _of_port(part, device)
    yield architecture.cores * dma.channels * (1 if dma.merged else 2) * _of_engine(architecture, device)


def _of_port(part: Memory, device: DramChannel) -> float:
    """Bytes that a port of a DRAM offers in a second at most."""
    requests = part.control.requests
    return inf if requests is None else float(requests * device.clock_hz * device.burst_bytes)


def _of_engine(architecture: Architecture, device: DramChannel) -> float:
    """Bytes that an engine offers a DRAM in a second at most."""
    dma = architecture.dma
    if dma.requests is None:
        return inf
    return float(dma.requests * min(dma.clock_hz, device.clock_hz) * device.burst_bytes)


def device_of(part: Memory) -> DramMemory:
    """The DRAM that a part is, by its standard."""
    return catalogue.dram(part.standard, part.speed_mts, part.width_bits, part.channels, part.capacity_bytes)


def _shares(part: Memory, dram: DramMemory, cores: int, apart: int) -> Shares:
    """What is left of the peak by streams, up to one for each core, and run, up to where the next one begins; the
    streams lie ``apart`` bytes from one another (0: anywhere)."""
    from archsim.memory.dram.sampling import CROWDS

    device, sampler = dram.device, sampler_of(dram, part.control)
    most = dram.channels * device.columns * device.groups * device.burst_bytes // RUNS_TOGETHER
    runs = [device.burst_bytes << bit for bit in range(0, (most // device.burst_bytes).bit_length(), RUN_STEP)]
    streams = [1, *(crowd for crowd in reversed(CROWDS) if crowd <= cores)]
    return tuple((n, tuple((run, float(sampler.share(n, run, most, apart))) for run in runs)) for n in streams)
