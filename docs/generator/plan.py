"""Draws the plan of rooms from the imports of the code, and puts it into the page of the architecture.

A room is what stands directly under ``archsim``, and ``mapper``, which has rooms of its own: what stands directly under
it. A room uses another one when a file of it imports from there, in any way that ``tests.tools.rooms`` knows. A room
stands one floor above the highest room that it uses; rooms that use one another stand on one floor.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from html import escape
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from tests.tools.rooms import plan
from tests.tools.rooms import room as room_of

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page


PAGE = "architecture.md"
PLACE = "<!-- rooms -->"
PLACE_OF_MAPPER = "<!-- rooms of the mapper -->"
WIDTH, BOX, HIGH, GAP, FLOOR = 960, 132, 34, 22, 78
HEAD = (
    '<svg class="plan" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
    'aria-label="The rooms and who uses whom"><style>.plan text{{font:600 13px system-ui,sans-serif;fill:#1a237e}}'
    ".plan rect{{fill:#e8eaf6;stroke:#3f51b5}}"
    ".plan path{{fill:none;stroke:#7a7a8a;stroke-width:1.1;marker-end:url(#tip)}}</style>"
    '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    '<polygon points="0,0 8,4 0,8" fill="#7a7a8a"/></marker></defs>'
)
DOORS = {"archsim", "__main__"}
Uses = Mapping[str, frozenset[str]]


def uses(tree: Path) -> Uses:
    """Room -> the rooms that it imports from. ``archsim`` itself and its ``__main__`` are doors and no rooms."""
    found = plan(tree)
    known = {room_of(module) for module in found.files} - DOORS
    return {each: frozenset(target for source, target in found.arrows() if source == each) for each in sorted(known)}


def uses_in_mapper(tree: Path) -> Uses:
    """Room inside ``mapper`` -> the others there that it imports from."""
    return {each: frozenset(targets) for each, targets in sorted(plan(tree).rooms_of_mapper().items())}


def reached(graph: Uses) -> Uses:
    """Room -> all rooms that it reaches over any number of arrows."""
    far = {room: set(graph[room]) for room in graph}
    for middle in graph:
        for room in graph:
            if middle in far[room]:
                far[room] |= far[middle]
    return {room: frozenset(far[room]) for room in graph}


def floors(graph: Uses) -> dict[str, int]:
    """Room -> its floor, 0 at the bottom; rooms of one circle share a floor."""
    far = reached(graph)
    height: dict[str, int] = {}
    for room in sorted(graph, key=lambda name: (len(far[name] | {name}), name)):
        below = [other for other in far[room] if room not in far[other]]
        height[room] = 1 + max((height[other] for other in below), default=-1)
    return height


def arrows(graph: Uses) -> list[tuple[str, str]]:
    """The arrows to draw: those between two floors that no way over another room replaces."""
    far, height = reached(graph), floors(graph)
    down = [(room, other) for room in graph for other in sorted(graph[room]) if height[other] < height[room]]
    between = {
        (room, other)
        for room, other in down
        if any(other in far[way] and height[way] > height[other] for way in graph[room] if height[way] < height[room])
    }
    return [arrow for arrow in down if arrow not in between]


def drawn(graph: Uses) -> str:
    """The plan as an SVG picture, lowest floor at the bottom."""
    height = floors(graph)
    top = max(height.values())
    widest = max(list(height.values()).count(floor) for floor in range(top + 1))
    width = max(WIDTH, widest * (BOX + GAP))
    at: dict[str, tuple[float, float]] = {}
    for floor, group in groupby(sorted(graph, key=lambda room: (height[room], room)), key=height.__getitem__):
        row = list(group)
        left = (width - len(row) * (BOX + GAP) + GAP) / 2
        at |= {room: (left + (BOX + GAP) * place, 8 + FLOOR * (top - floor)) for place, room in enumerate(row)}
    lines = [_arrow(at[room], at[other]) for room, other in arrows(graph)]
    boxes = "".join(_box(room, place) for room, place in at.items())
    return HEAD.format(width=width, height=FLOOR * top + HIGH + 16) + "".join(lines) + boxes + "</svg>"


def _arrow(start: tuple[float, float], end: tuple[float, float]) -> str:
    x, y, to_x, to_y = start[0] + BOX / 2, start[1] + HIGH, end[0] + BOX / 2, end[1]
    return f'<path d="M{x:g} {y:g}C{x:g} {y + 26:g} {to_x:g} {to_y - 26:g} {to_x:g} {to_y:g}"/>'


def _box(room: str, place: tuple[float, float]) -> str:
    x, y = place
    name = escape(room)
    return (
        f'<g><title>{name}</title><rect x="{x:g}" y="{y:g}" width="{BOX}" height="{HIGH}" rx="5"/>'
        f'<text x="{x + BOX / 2:g}" y="{y + 22:g}" text-anchor="middle">{name}</text></g>'
    )


def listed(folder: Path, graph: Uses) -> str:
    """The rooms of a folder, which may stand beside it too, as a table, from the highest floor down: what each is for,
    and what it uses."""
    height = floors(graph)
    rows = ["| floor | room | what it is for | uses |", "| ---: | --- | --- | --- |"]
    for room in sorted(graph, key=lambda name: (-height[name], name)):
        place = folder.parent / room if room == "mapper" else folder / room
        file = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
        about = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
        words = " ".join(about.partition("\n\n")[0].split()).replace("``", "`").replace("|", "\\|")
        used = ", ".join(sorted(graph[room]))
        rows.append(f"| {height[room]} | `{room}` | {words} | {used or 'nothing'} |")
    return "\n".join(rows)


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Puts picture and table where the page of the architecture asks for them."""
    if page.file.src_uri != PAGE:
        return markdown
    tree = Path(config.config_file_path).parent
    for place, folder, graph in (
        (PLACE, tree / "archsim", uses(tree)),
        (PLACE_OF_MAPPER, tree / "mapper", uses_in_mapper(tree)),
    ):
        markdown = markdown.replace(place, f'<div class="wide">{drawn(graph)}</div>\n\n{listed(folder, graph)}')
    return markdown
