"""The time axis below charts that show the run from start to end."""

from __future__ import annotations

from archsim.report.kit import svg
from archsim.report.kit.number_format import si

LEFT, RIGHT = 76.0, 1110.0


def place(value: float, total: float) -> float:
    """Where ``value`` of ``total`` stands, in user units from the left."""
    return LEFT + (RIGHT - LEFT) * value / total if total else LEFT


def axis(y: float, latency_s: float) -> str:
    """The axis at ``y`` with its ticks in seconds."""
    drawn = [svg.line(LEFT, y, RIGHT, y, css="axis")]
    for tick in svg.ticks(latency_s, 8):
        x = place(tick, latency_s)
        drawn.append(svg.line(x, y, x, y + 4, css="axis"))
        drawn.append(svg.text(x, y + 18, si(tick, "s", 3) if tick else "0", "t num dim", "middle"))
    return "".join(drawn)
