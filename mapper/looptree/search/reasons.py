"""Why nothing in a space fits, and the smallest change after which something does; why what was found is no proof."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from mapper.looptree.cost import held_by
from mapper.looptree.hierarchy import Axis, Hierarchy, Memory
from mapper.looptree.nest import Nest
from mapper.looptree.search.space import Space

Finder = Callable[[Space], Nest | None]  # any LoopTree of a space that fits


def reason(space: Space, find: Finder) -> str:
    """One sentence; ``find`` is asked for spaces with other memories and axes."""
    hierarchy = space.hierarchy
    start = f"no LoopTree of '{space.einsum.name}' fits '{hierarchy.name}': "
    if clash := together(space, find):
        return start + clash
    for memory in hierarchy.memories:
        if memory.size_bits is not None and find(_sized(space, memory.name, None)) is not None:
            return start + _too_small(space, memory, find)
    limited = [memory.name for memory in hierarchy.memories if memory.size_bits is not None]
    return start + f"more than one of its limits stands against it (memories {', '.join(limited) or 'none'})"


def together(space: Space, find: Finder) -> str:
    """That the fan-outs cannot all be used as far as each alone can be, whatever the memories hold; '' if they can."""
    names = [axis.name for axis in space.hierarchy.axes if axis.most_used]
    if not names:
        return ""
    for memory in space.hierarchy.memories:
        space = _sized(space, memory.name, None)
    if find(space) is not None:
        return ""
    for name in names:
        if find(_eased(space, name)) is not None:
            return f"fan-out '{name}' cannot be used as far as it must beside the others; ease its least use"
    for name in names:
        space = _eased(space, name)
    if find(space) is None:
        return ""
    which = ", ".join(f"'{name}'" for name in names)
    return f"fan-outs {which} cannot all be used as far as each alone can be; ease the least use of more than one"


def left_out(dims: Mapping[str, int], most: int) -> str:
    """Why a search that ended is no proof: of these dims (with their extents) it left tilings out."""
    which = ", ".join(f"{dim} ({extent:,})" for dim, extent in dims.items())
    return f"of dims larger than {most} equal parts and what fan-outs take were tried, not every tile: {which}"


def _too_small(space: Space, memory: Memory, find: Finder) -> str:
    size = int(memory.size_bits or 0)
    low, high = size, max(1, 2 * size)
    while find(_sized(space, memory.name, high)) is None:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if find(_sized(space, memory.name, middle)) is None:
            low = middle
        else:
            high = middle
    nest = find(_sized(space, memory.name, high))
    assert nest is not None
    held = held_by(nest, space.hierarchy, space.convention)
    bits, operand = max((bits, operand) for (name, operand), bits in held.items() if name == memory.name)
    return f"memory '{memory.name}' has {size:,} bits and needs {high:,}, of which operand '{operand}' takes {bits:,}"


def _sized(space: Space, name: str, bits: int | None) -> Space:
    return _with(space, name, lambda part: replace(part, size_bits=bits) if isinstance(part, Memory) else part)


def _eased(space: Space, name: str) -> Space:
    return _with(space, name, lambda part: replace(part, most_used=False) if isinstance(part, Axis) else part)


def _with(space: Space, name: str, change: Callable[[Memory | Axis], Memory | Axis]) -> Space:
    parts = tuple(change(part) if part.name == name else part for part in space.hierarchy.parts)
    return replace(space, hierarchy=Hierarchy(space.hierarchy.name, parts, space.hierarchy.compute))
