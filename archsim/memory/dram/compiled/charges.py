"""What transfers of the compiled machine are charged to: layers, and the bandwidth trace."""

from __future__ import annotations

from typing import Any

from archsim.base.jit import njit
from archsim.memory.dram.compiled.records import MOVED, TRACES


@njit
def charge(state: Any, layer: int, done: Any) -> None:
    """Charge a transfer of any DRAM to a layer, and put it on the bandwidth trace where one is kept."""
    charged, header = state.charged[layer], state.header
    charged[done[3]] += done[5]
    for n in range(4):
        charged[2 + n] += done[6 + n]
    if header[TRACES] and done[4]:
        row = state.moved[header[MOVED]]
        header[MOVED] += 1
        row[0], row[1], row[2], row[3] = done[2], done[1], done[4], done[3]
        for n in range(4, 9):
            row[n] = done[1 + n]
