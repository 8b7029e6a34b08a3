"""Plain horizontal bars in one colour, longest first: energy and area by part."""

from __future__ import annotations

from collections.abc import Mapping

from archsim.report import svg
from archsim.report.format import percent, shorten, si

ROW, BAR = 22.0, 15.0
WIDTH = 548.0  # half a page: two of them stand side by side
LEFT, RIGHT = 146.0, 388.0


def parts(values: Mapping[str, float], unit: str, colour: str, description: str) -> str:
    """``values``: part -> amount in ``unit`` ('J', 'mm2'). Parts of zero are left out."""
    present = sorted(((value, name) for name, value in values.items() if value), key=lambda row: (-row[0], row[1]))
    whole, most = sum(values.values()), max((value for value, _ in present), default=1.0)
    drawn = []
    for index, (value, name) in enumerate(present):
        y = index * ROW
        amount = si(value, unit) if unit != "mm2" else f"{value:.4g} mm\N{SUPERSCRIPT TWO}"
        drawn.append(svg.text(LEFT - 10, y + BAR - 3, shorten(name, 21), "t", "end"))
        drawn.append(svg.rect(LEFT, y, max((RIGHT - LEFT) * value / most, 1.0), BAR, colour, f"{name}: {amount}"))
        drawn.append(svg.text(RIGHT + 78, y + BAR - 3, amount, "t num", "end"))
        drawn.append(svg.text(WIDTH, y + BAR - 3, percent(value, whole), "t num dim", "end"))
    height = max(len(present), 1) * ROW + 4
    return svg.tag(
        "svg",
        svg.title(description) + "".join(drawn),
        viewBox=f"0 0 {WIDTH:.0f} {height:.0f}",
        role="img",
        class_="chart half",
    )
