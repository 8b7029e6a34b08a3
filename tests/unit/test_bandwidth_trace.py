"""The bandwidth trace: columns that say what its rows do, in their order."""

from __future__ import annotations

import pickle

from hypothesis import given
from hypothesis import strategies as st

from archsim.ir.bandwidth import FIELDS, BandwidthTrace
from archsim.ir.rows import Bandwidth
from archsim.sim.protocols import Demand
from archsim.sim.tally import Tally

NUMBERS = st.integers(0, 3)
DEMANDS = st.lists(st.builds(Demand, st.sampled_from(["l1", "l2", "x"]), st.booleans(), NUMBERS, NUMBERS), max_size=3)
COMMANDS = st.lists(st.tuples(st.integers(0, 2), NUMBERS, st.integers(3, 6)), max_size=12)
MOVED = st.lists(st.builds(Bandwidth, st.just("dram"), NUMBERS, NUMBERS, NUMBERS, st.booleans(), *[NUMBERS] * 5))


@given(st.lists(DEMANDS.map(tuple), min_size=3, max_size=3), COMMANDS, MOVED)
def test_rows_are_those_of_every_command_sorted(
    kinds: list[tuple[Demand, ...]], commands: list[tuple[int, int, int]], moved: list[Bandwidth]
) -> None:
    """Streams of commands and transfers of DRAM; without bytes none."""
    tally, quiet = Tally(trace=True), Tally(trace=False)
    rows = [stream for stream in moved if stream.size_bytes]
    for stream in moved:
        tally.moved(stream)
        quiet.moved(stream)
    for kind, start_ps, end_ps in commands:
        tally.streamed(kinds[kind], start_ps, end_ps)
        quiet.streamed(kinds[kind], start_ps, end_ps)
        rows += [Bandwidth(d.memory, start_ps, end_ps, d.size_bytes, d.write) for d in kinds[kind] if d.size_bytes]
    trace = tally.bandwidth()
    assert repr(list(trace)) == repr(sorted(rows)) and len(trace) == len(rows) and not len(quiet.bandwidth())
    assert trace == BandwidthTrace.of(rows[::-1]) == pickle.loads(pickle.dumps(trace))
    assert sorted(trace.by_memory) == sorted({row.memory for row in rows})
    for memory, streams in trace.by_memory.items():
        written = [getattr(row, name) for row in sorted(rows) if row.memory == memory and row.write for name in FIELDS]
        picked = streams.pick(streams.write)
        assert [value for row in zip(*map(picked.column, FIELDS), strict=True) for value in row] == written


def test_traces_that_differ() -> None:
    """In a field, in the memory, in how many."""
    row = Bandwidth("l1", 0, 4, 8, False)
    for others in ([], [row, row], [row._replace(memory="l2")], [row._replace(write=True)], [row._replace(row_hits=1)]):
        assert BandwidthTrace.of([row]) != BandwidthTrace.of(others)
