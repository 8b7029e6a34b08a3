"""Areas as rectangles to scale: a squarified treemap (Bruls, Huizing, van Wijk, "Squarified Treemaps", 2000).

It says how large parts are beside each other, not where they lie.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt
from typing import NamedTuple

from archsim.report.kit import svg
from archsim.report.kit.number_format import at_word, number, percent
from archsim.report.kit.svg import DrawingFrame

WIDTH, HEIGHT = 548.0, 320.0
LETTER, LINE = 7.0, 17.0  # room that text takes, user units


class TreemapBox(NamedTuple):
    """A rectangle in user units."""

    x: float
    y: float
    width: float
    height: float


def treemap(
    areas: Mapping[str, float], colours: Mapping[str, str], description: str, frame: DrawingFrame = svg.WIDE
) -> str:
    """``areas``: part -> mm2; parts of none are left out; '' without any."""
    present = sorted(((area, name) for name, area in areas.items() if area > 0), key=lambda row: (-row[0], row[1]))
    if not present:
        return ""
    whole = sum(area for area, _ in present)
    frame = frame if frame.is_narrow else frame._replace(width=WIDTH)
    boxes = squarified([area for area, _ in present], TreemapBox(0, 0, frame.width, HEIGHT))
    drawn = [
        _part(box, name, area, whole, colours.get(name, "#9AA3AD"), frame)
        for box, (area, name) in zip(boxes, present, strict=True)
    ]
    return svg.picture(HEIGHT, description, drawn, frame)


def squarified(areas: Sequence[float], room: TreemapBox) -> list[TreemapBox]:
    """A rectangle for each of ``areas`` (> 0, the largest first); together they fill ``room``, each to scale."""
    scale = room.width * room.height / sum(areas)
    left, found = [area * scale for area in areas], list[TreemapBox]()
    while left:
        count = 1
        side = min(room.width, room.height)
        while count < len(left) and _worst(left[: count + 1], side) <= _worst(left[:count], side):
            count += 1
        row, left = left[:count], left[count:]
        boxes, room = _laid(row, room)
        found += boxes
    return found


def _worst(row: Sequence[float], side: float) -> float:
    """The largest ratio of sides in a row along ``side``."""
    depth = sum(row) / side
    return max(max(depth * depth / area, area / (depth * depth)) for area in row)


def _laid(row: Sequence[float], room: TreemapBox) -> tuple[list[TreemapBox], TreemapBox]:
    """A row along the shorter side of ``room``, and the room that is left."""
    upright = room.width >= room.height
    depth = sum(row) / (room.height if upright else room.width)
    boxes, at = [], room.y if upright else room.x
    for area in row:
        length = area / depth
        boxes.append(TreemapBox(room.x, at, depth, length) if upright else TreemapBox(at, room.y, length, depth))
        at += length
    if upright:
        return boxes, TreemapBox(room.x + depth, room.y, room.width - depth, room.height)
    return boxes, TreemapBox(room.x, room.y + depth, room.width, room.height - depth)


def _part(box: TreemapBox, name: str, area: float, whole: float, colour: str, frame: DrawingFrame) -> str:
    figure = f"{number(area)} mm\N{SUPERSCRIPT TWO}"
    tip = frame.tip(f"{name}: {figure}, {percent(area, whole)}, {sqrt(area):.3g} mm square")
    block = svg.rect(box.x, box.y, box.width, box.height, colour, tip, stroke="#fff", stroke_width=2, fill_opacity=0.8)
    letters = int((box.width - 12) / LETTER)
    if letters < 3 or box.height < LINE + 6:
        return block
    lines = [text for text in (at_word(name, letters), figure, percent(area, whole)) if 0 < len(text) <= letters]
    shown = lines[: int((box.height - 6) / LINE)]
    texts = [svg.text(box.x + 7, box.y + LINE * (at + 1), text, "t small") for at, text in enumerate(shown)]
    return block + "".join(texts)
