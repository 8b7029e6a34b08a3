"""The compiler's and the machine's action counts in one form, so that they can be compared."""

from __future__ import annotations

from collections import Counter

from archsim.ir.activity import Activity
from archsim.ir.workload import Workload
from archsim.spec.architecture import Architecture
from mapper.analytic.cache_counts import cached_counts
from mapper.analytic.expected_actions import border_counts, expected_counts
from mapper.compile import Compiled

OWN_ACCOUNT = (  # known only to the DRAM
    "pin_read_bytes", "pin_write_bytes", "row_hits", "row_misses", "row_conflicts", "activates", "refreshes",
    "row_open_ps",
)  # fmt: skip

Counts = dict[tuple[str, str, str], int]


def compiler_counts(compiled: Compiled, workload: Workload, chip: Architecture) -> Counts:
    """What the compiler expects of every layer, borders of pinned tensors included."""
    total: Counter[tuple[str, str, str]] = Counter()
    for frame in compiled.frames:
        assert frame is not None
        for (part, action), count in expected_counts(frame, chip, compiled.mapping.dtypes).items():
            total[frame.name, part, action] += count
    for pinned in compiled.residency.tensors.values():
        layer = workload.layers[pinned.life.first].name
        for (part, action), count in border_counts(pinned, workload.tensors[pinned.tensor].shape, chip).items():
            total[layer, part, action] += count
    total.update(cached_counts(compiled.program, chip))
    return {key: count for key, count in total.items() if count}


def machine_counts(activity: Activity, chip: Architecture) -> Counts:
    """What the machine counted on the chip's parts, without host, networks and the DRAM's own account."""
    others = {part.name for part in (chip.host, chip.noc) if part is not None}
    others |= {level.name for level in chip.noc.outer} if chip.noc is not None else set()
    return {key: n for key, n in activity.counts.items() if n and key[1] not in others and key[2] not in OWN_ACCOUNT}
