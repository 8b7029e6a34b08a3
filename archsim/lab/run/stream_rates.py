"""How long the compiler should expect a region of a DRAM to take: what the fast model knows of its pattern.

A pattern's first bursts are given to the exact controller once, and what was measured is kept for later runs
(``archsim.memory.dram.sampling``).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from archsim.base.units import PS_PER_S
from archsim.facts.dram.bit_order import mapped
from archsim.ir.footprint import ByteFootprint
from archsim.memory.policy import policy_of
from archsim.spec.architecture import Dma
from archsim.spec.memories import DramControl

if TYPE_CHECKING:
    from archsim.facts.dram.device import DramMemory
    from archsim.memory.dram.sampling import PatternSampler


@dataclass(frozen=True)
class SampledRates:
    """Of one DRAM under its ``control``, as the engines of ``dma`` ask for it."""

    dram: DramMemory
    control: DramControl
    dma: Dma

    @property
    def most(self) -> float:
        """The share of the peak that refreshes leave to a stream."""
        return float(self._sampler.pace)

    def seconds(self, touched: ByteFootprint, *, write: bool) -> float:
        """What the bytes take, alone in the memory, beside the latency of the first burst; with refreshes."""
        touched = touched._replace(offset=touched.offset % self.dram.device.burst_bytes)
        if (touched, write) not in self._known:
            self._known[touched, write] = self._seconds(touched, write)
        return self._known[touched, write]

    def _seconds(self, touched: ByteFootprint, write: bool) -> float:
        from archsim.memory.dram.interface import Transfer
        from archsim.memory.dram.patterns import TransferPattern
        from archsim.memory.dram.region_records import bursts_touched, region_at_0

        offset, run_bytes, outer = touched
        axes = tuple([extent for extent, _ in outer]), tuple([stride for _, stride in outer])
        run_bytes, extents, strides, *_ = region_at_0(Transfer(0, write, offset, run_bytes, *axes))
        bursts = bursts_touched(offset, run_bytes, extents, strides, self.dram.device.burst_bytes)
        limit = self.dma.outstanding
        limit = None if limit is None or limit >= bursts else limit
        region = write, offset, run_bytes, extents, strides
        pattern = TransferPattern(*region, outstanding=limit, asked=self._asked)
        work_ps = self._sampler.sample(pattern).scaled(bursts).work_ps
        return float(work_ps / self._sampler.speed(pattern, 1, both=False)) / PS_PER_S

    @cached_property
    def _sampler(self) -> PatternSampler:
        return sampler_of(self.dram, self.control)

    @cached_property
    def _known(self) -> dict[tuple[ByteFootprint, bool], float]:
        return {}

    @property
    def _asked(self) -> tuple[tuple[int, int], ...]:
        """Requests a cycle, and their clock, of those who offer bursts no faster."""
        of_engine = () if self.dma.requests is None else ((self.dma.requests, self.dma.clock_hz),)
        requests = self.control.requests
        return of_engine + (() if requests is None else ((requests, self.dram.device.clock_hz),))

    def __getstate__(self) -> dict[str, Any]:
        """What another process needs, which samples for itself."""
        return {"dram": self.dram, "control": self.control, "dma": self.dma}


def sampler_of(dram: DramMemory, control: DramControl) -> PatternSampler:
    """What measures patterns on the exact model of a DRAM."""
    from archsim.memory.dram.sampling import PatternSampler

    mapping, interleave = mapped(control.address_map, dram)
    return PatternSampler(dram, policy_of(control), mapping, interleave * dram.device.burst_bytes)
