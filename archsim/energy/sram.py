"""Energy and leakage of an SRAM bank by size and word width, from tabulated points.

Between points of one width: straight lines in log size and log figure; beyond the table its end lines go on.
Between widths: a straight line in log width. A word narrower than the narrowest width costs as much as that
one; a word wider than the widest is read from several banks of that width side by side, which share the size.
A memory of n banks is n banks of size / n. Points hold for one read-write port; each further port adds a
share of leakage (and of the area, ``structures``), none of the energy of an access.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, exp, log

from archsim.spec.memories import Memory
from archsim.spec.part import SourcedNumber

SramCurve = tuple[tuple[float, float], ...]  # (size_kib, figure), ascending


@dataclass(frozen=True, slots=True)
class SramTable:
    """``curves``: word bits -> column (read_pj, write_pj, leakage_uw) -> points; ``sources`` by word bits."""

    curves: Mapping[int, Mapping[str, SramCurve]]
    sources: Mapping[int, str]
    extra_port: SourcedNumber
    cell_um2_per_bit: SourcedNumber

    def bank(self, column: str, size_bytes: float, word_bits: int) -> SourcedNumber:
        """A figure of one bank, in the column's unit: pJ per access or uW."""
        widest = max(self.curves)
        slices = max(1, ceil(word_bits / widest))
        bits = min(max(word_bits / slices, min(self.curves)), widest)
        size_kib = size_bytes / slices / 1024
        low = max(width for width in self.curves if width <= bits)
        high = min(width for width in self.curves if width >= bits)
        value = slices * between(
            bits,
            (low, log_line(self.curves[low][column], size_kib)),
            (high, log_line(self.curves[high][column], size_kib)),
        )
        text = (
            self.sources[low] if low == high else f"{self.sources[low]}; {low} b to {high} b joined by a line in logs"
        )
        return SourcedNumber(value, self._outside(text, column, size_kib, low))

    def ports_factor(self, memory: Memory) -> float:
        """Area and leakage relative to one port per bank."""
        ports = memory.ports.each + sum(own.each for own in memory.private_ports.values())
        return 1 + self.extra_port.value * (ports - 1)

    def _outside(self, text: str, column: str, size_kib: float, width: int) -> str:
        points = self.curves[width][column]
        if points[0][0] <= size_kib <= points[-1][0]:
            return text
        return f"estimated: beyond the points ({points[0][0]:g} to {points[-1][0]:g} KiB) of {text}"


def log_line(points: SramCurve, at: float) -> float:
    """Piecewise power law through ``points`` at ``at`` > 0; the end pieces go on outside."""
    index = next((i for i in range(1, len(points) - 1) if at < points[i][0]), len(points) - 1)
    return between(at, points[index - 1], points[index])


def between(at: float, low: tuple[float, float], high: tuple[float, float]) -> float:
    """The power law through two points, at ``at``; the first point's value when both are one."""
    if low[0] == high[0]:
        return low[1]
    slope = log(high[1] / low[1]) / log(high[0] / low[0])
    return low[1] * exp(slope * log(at / low[0]))
