"""Why nothing fits: the tensor, the memory, what it needs and has, and the least size that would do.

Every cell of every template is looked at, so the sizes are the least: with a memory of that size, and the others as
they are, some mapping of the space fits; with less none does while the same tensors stay on chip.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from archsim.base import units
from archsim.spec.architecture import Architecture
from mapper.cost.grid import Grid, Reals, Traffic, at
from mapper.cost.grid_cost import held_bytes
from mapper.problem.capacity import least_size, shared
from mapper.problem.problem import Problem
from mapper.search.space import Order, depth_choices


@dataclass(frozen=True)
class _Needs:
    """Bytes by memory of every cell, over all templates; ``moved``: each template's grid and traffic."""

    by_level: Mapping[str, Reals]
    moved: Sequence[tuple[Grid, Mapping[str, Traffic]]]

    def largest(self, problem: Problem, level: str, index: int) -> tuple[float, str, str, int]:
        """(bytes, tensor, operand, slots) of the operand that needs most of ``level`` in a cell."""
        ends = np.cumsum([grid.size for grid, _ in self.moved])
        template = int(np.searchsorted(ends, index, side="right"))
        grid, moved = self.moved[template]
        cell = [int(i) for i in np.unravel_index(index - int(ends[template]) + grid.size, grid.shape)]
        found = []
        for plan in problem.operands:
            if plan.level == level:
                need, slots = moved[plan.name].needs, moved[plan.name].slots
                found.append((float(at(need, cell)), plan.tensor or plan.name, plan.operand, int(at(slots, cell))))
        return max(found)


def reason(problem: Problem, grids: Sequence[tuple[Grid, Sequence[Order]]], architecture: Architecture) -> str:
    """Which tensor fits which memory at no tiles of these grids in these loop orders, and what would do; '' when some
    fits."""
    all_needs = _needs(problem, grids)
    over = {level: need - problem.capacity[level] for level, need in all_needs.by_level.items()}
    excess = sum((np.maximum(extra, 0.0) for extra in over.values()), np.zeros(()))
    if float(excess.min()) <= 0.0:
        return ""
    alone = {level: cell for level in over if (cell := _least_alone(over, level)) is not None}
    level, index = min(alone.items(), key=lambda item: (over[item[0]][item[1]], item[0])) if alone else ("", -1)
    if not alone:
        index = int(excess.argmin())
        level = max(over, key=lambda name: (over[name][index], name))
    need = int(all_needs.by_level[level][index])
    most, tensor, operand, slots = all_needs.largest(problem, level, index)
    enough = _would_do(all_needs, alone, over, index, architecture)
    return (
        f"layer '{problem.layer.name}' ({problem.layer.op}): no tiling fits '{level}' of chip '{architecture.name}': "
        f"the smallest needs {need:,} bytes, of which {int(most):,} for tensor '{tensor}' "
        f"({operand}, {slots} slot{'s' if slots != 1 else ''}); it has {problem.capacity[level]:,} of "
        f"{architecture.memory(level).capacity_bytes:,} bytes free; {enough}"
    )


def _needs(problem: Problem, grids: Sequence[tuple[Grid, Sequence[Order]]]) -> _Needs:
    moved = [
        (grid, {plan.name: grid.traffic(plan, order, kept[plan.name]) for plan in problem.operands})
        for grid, orders in grids
        for order in orders
        for kept in depth_choices(grid, order)
    ]
    held = [(grid, held_bytes(problem, flows)) for grid, flows in moved]
    whole = {
        level: np.concatenate([np.ravel(np.broadcast_to(need[level], grid.shape)) for grid, need in held])
        for level in held[0][1]
    }
    return _Needs(whole, moved)


def _least_alone(over: Mapping[str, Reals], level: str) -> int | None:
    """The cell that needs least of ``level`` among those that fit all other memories."""
    fits = np.ones(over[level].shape, dtype=bool)
    for other, extra in over.items():
        fits &= (extra <= 0) | (other == level)
    return int(np.where(fits, over[level], np.inf).argmin()) if fits.any() else None


def _would_do(
    found: _Needs, alone: Mapping[str, int], over: Mapping[str, Reals], index: int, architecture: Architecture
) -> str:
    """``l1 of 24 KiB would do``: any one memory that can be enlarged alone, else those that must be together."""
    if alone:
        sizes = [_size(level, found.by_level[level][cell], architecture) for level, cell in sorted(alone.items())]
        return f"{' or '.join(sizes)} would do"
    sizes = [
        _size(level, found.by_level[level][index], architecture) for level in sorted(over) if over[level][index] > 0
    ]
    return f"{' and '.join(sizes)} would do together"


def _size(level: str, need: float, architecture: Architecture) -> str:
    memory = architecture.memory(level)
    is_shared = memory in shared(architecture)
    return f"{level} of {units.exact(least_size(memory, int(need), is_shared), units.SIZE)}"
