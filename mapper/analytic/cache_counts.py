"""Expected action counts of gathers that go through a cache: they depend on all gathers before, so on the Program.

One load queue runs every gather of a compiled Program, in order, and nothing that it compiles writes tables; so the
cache meets the rows in the order of that queue, whatever the timing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from archsim.facts.lru.lines import LruLines, first_line, touches
from archsim.ir.footprint import footprint
from archsim.ir.program import PlacedTensor, Program
from archsim.ir.streams import rows_of
from archsim.ir.unroll import Step, unroll
from archsim.spec.architecture import Architecture
from archsim.spec.memories import Cache

LayerCounts = Counter[tuple[str, str, str]]


def cached_counts(program: Program, architecture: Architecture) -> LayerCounts:
    """(layer, part, action) -> counts of caches, and of what their misses read of the DRAM."""
    counts: LayerCounts = Counter()
    drams = [memory.name for memory in architecture.memories if memory.kind == "dram"]
    lines = {cache.name: LruLines(cache.sets, cache.ways) for cache in architecture.caches}
    for step, table, cache in _gathers(program, architecture):
        if table.memory in drams:
            _add(counts, step, table, cache, lines[cache.name], drams.index(table.memory))
    return Counter({key: count for key, count in counts.items() if count})


def _gathers(program: Program, architecture: Architecture) -> Iterator[tuple[Step, PlacedTensor, Cache]]:
    tensors = {tensor.name: tensor for tensor in program.tensors}
    for queue in program.queues:
        for step in unroll(queue) if architecture.caches else ():
            if step.command.table is None:
                continue
            table = tensors[step.command.table.store]
            cache = architecture.cache(table.role)
            if cache is not None:
                yield step, table, cache


def _add(counts: LayerCounts, step: Step, table: PlacedTensor, cache: Cache, lines: LruLines, memory: int) -> None:
    layer, lookup, region = step.command.layer, step.command.index, step.command.table
    assert lookup is not None and region is not None
    row = footprint(region, step)
    asked = touches(table.base + row.offset + rows_of(step) * lookup.row_bytes, row, cache.line_bytes, cache.word_bytes)
    hits = lines.look_up(asked.line + first_line(memory, cache.line_bytes))
    misses = int((~hits).sum())
    counts[layer, cache.name, "lookups"] += len(hits)
    counts[layer, cache.name, "read_bytes"] += int(asked.size_bytes[hits].sum())
    counts[layer, cache.name, "read_accesses"] += int(asked.words[hits].sum())
    counts[layer, cache.name, "write_bytes"] += misses * cache.line_bytes
    counts[layer, cache.name, "write_accesses"] += misses * -(-cache.line_bytes // cache.word_bytes)
    counts[layer, table.memory, "read_bytes"] += misses * cache.line_bytes
