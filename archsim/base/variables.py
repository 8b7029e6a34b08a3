"""Variables of a part that are values, and so need no place in memory, in Numba's intermediate representation."""

from __future__ import annotations

from typing import Any

from numba.core import ir
from numba.core.analysis import compute_cfg_from_blocks, compute_use_defs, must_use_alloca


def of_one_value(blocks: Any) -> set[str]:
    """Those that one instruction gives a value, and that are read in its block, or in blocks that come behind it on all
    ways. ``blocks``: by offset, of a function whose variables have one value each as far as they can."""
    given: dict[str, list[int]] = {}
    for offset, block in blocks.items():
        for each in block.find_insts(ir.Assign):
            given.setdefault(each.target.name, []).append(offset)
    read: dict[str, list[int]] = {}
    for offset, names in compute_use_defs(blocks).usemap.items():
        for name in names:
            read.setdefault(name, []).append(offset)
    before = compute_cfg_from_blocks(blocks).dominators()
    kept = must_use_alloca(blocks)

    def is_value(name: str, places: list[int]) -> bool:
        """Whether one place gives the variable a value, which all blocks that read it come behind."""
        (first, *more) = places
        readers = read.get(name, ())
        return not more and name not in kept and all(first < each and first in before[each] for each in readers)

    return {name for name, places in given.items() if is_value(name, places)}
