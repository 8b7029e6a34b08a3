"""Laws of gathers and caches: how often a row is held, what a lookup costs, and that nothing is lost or free."""

from __future__ import annotations

from collections import OrderedDict
from math import prod, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archsim.energy.account import account
from archsim.energy.chip import tables_for
from archsim.facts.lru.lines import LruLines, touches
from archsim.ir.footprint import ByteFootprint
from archsim.ir.indices import Indices
from archsim.ir.streams import entries
from archsim.sim.attribution import attribute
from archsim.system import simulate
from tests.unit.fixtures_gather import CACHE, chip, gather, scatter

LAWS = settings(max_examples=60, deadline=None, derandomize=True)
SIGMAS = 3
LOOKUPS = 200_000


def full(lines: LruLines, indices: Indices, rows: int, most: int) -> int:
    """Look rows up until ``most`` lines have missed into every way; how many that took (a multiple of 1000)."""
    start = 0
    while int((lines._tags >= 0).sum()) < most:  # the state itself is what warm means
        lines.look_up(entries(indices, rows, np.arange(start, start + 1000)))
        start += 1000
    return start


@pytest.mark.parametrize(("sets", "ways"), [(1, 64), (64, 1), (16, 4), (10, 25)])
@pytest.mark.parametrize("seed", range(3))
def test_law_27_uniform_rows_hit_as_often_as_they_are_held(sets: int, ways: int, seed: int) -> None:
    """Law 27: once every way holds a row (looked up until that is so), each look-up hits with probability c / N,
    whatever came before it, so the number of hits of n is binomial: within 3 standard deviations of n c / N.
    """
    rows, held = 1000, sets * ways
    indices = Indices("uniform", seed)
    lines = LruLines(sets, ways)
    start = full(lines, indices, rows, held)
    hits = lines.look_up(entries(indices, rows, np.arange(start, start + LOOKUPS)))
    share = held / rows
    assert abs(int(hits.sum()) - LOOKUPS * share) <= SIGMAS * sqrt(LOOKUPS * share * (1 - share))


@pytest.mark.parametrize("exponent", [0.0, 0.6, 1.0, 1.4])
@pytest.mark.parametrize("rows", [50, 100_000])
def test_law_27_zipf_rows_have_their_probability(exponent: float, rows: int) -> None:
    """Law 27: the head of a Zipf stream has the mass sum(r ** -s for r <= k) / sum(r ** -s for r <= N), to 3 sigma."""
    drawn = entries(Indices("zipf", 5, exponent), rows, np.arange(LOOKUPS))
    weights = np.arange(1, rows + 1) ** -exponent
    for head in (1, 10, rows // 2):
        mass = float(weights[:head].sum() / weights.sum())
        assert abs(int((drawn < head).sum()) - LOOKUPS * mass) <= SIGMAS * sqrt(LOOKUPS * mass * (1 - mass))


@given(
    sets=st.integers(1, 5),
    ways=st.integers(1, 4),
    accesses=st.lists(st.tuples(st.integers(0, 30), st.booleans()), max_size=80),
    dropped=st.tuples(st.integers(0, 30), st.integers(0, 30)),
)
@LAWS
def test_law_27_traces_hit_as_a_list_by_hand(
    sets: int, ways: int, accesses: list[tuple[int, bool]], dropped: tuple[int, int]
) -> None:
    """Law 27: any trace of reads and writes, with lines dropped half way, hits as sets kept by hand in order of use."""
    lines = LruLines(sets, ways)
    kept: list[OrderedDict[int, None]] = [OrderedDict() for _ in range(sets)]
    for number, (line, write) in enumerate(accesses):
        if number == len(accesses) // 2:
            lines.drop(*dropped)
            for held in kept:
                for gone in [tag for tag in held if dropped[0] <= tag < dropped[1]]:
                    del held[gone]
        held = kept[line % sets]
        found = bool((lines.update if write else lines.look_up)(np.array([line]))[0])
        assert found == (line in held)
        if found or not write:
            held[line] = None
            held.move_to_end(line)
            if len(held) > ways:
                held.popitem(last=False)


@given(
    starts=st.lists(st.integers(0, 500), min_size=1, max_size=6),
    run=st.integers(1, 90),
    outer=st.lists(st.tuples(st.integers(1, 3), st.integers(90, 200)), max_size=2),
    line=st.sampled_from([8, 32, 64]),
    word=st.sampled_from([4, 8]),
)
@LAWS
def test_law_27_rows_ask_for_the_lines_of_their_bytes(
    starts: list[int], run: int, outer: list[tuple[int, int]], line: int, word: int
) -> None:
    """Law 27: of each run, the lines and words that its bytes lie in, byte by byte; bytes sum to those of the rows."""
    row = ByteFootprint(0, run, tuple(outer))
    asked = touches(np.array(starts), row, line, word)
    expected = []
    for place, start in enumerate(starts):
        for point in np.ndindex(*(extent for extent, _ in outer)):
            first = start + sum(index * stride for index, (_, stride) in zip(point, outer, strict=True))
            for number in dict.fromkeys(byte // line for byte in range(first, first + run)):
                inside = [byte for byte in range(first, first + run) if byte // line == number]
                expected.append((place, number, len(inside), len({byte // word for byte in inside})))
    found = zip(asked.row.tolist(), asked.line.tolist(), asked.size_bytes.tolist(), asked.words.tolist(), strict=True)
    assert list(found) == expected
    assert int(asked.size_bytes.sum()) == len(starts) * run * prod(extent for extent, _ in outer)


PROGRAMS = {
    "gather": gather,
    "scatter": lambda: scatter("uniform(seed=2)"),
    "adding": lambda: scatter("uniform(seed=2)", "combine add"),
}


@pytest.mark.parametrize("cache", ["", CACHE])
@pytest.mark.parametrize("name", PROGRAMS)
def test_law_35_waits_of_gathers_sum(name: str, cache: str) -> None:
    """Law 35: every unit's causes tile the run, with rows by index and a cache in front of them."""
    activity = simulate(PROGRAMS[name](), chip(cache, "{setup: 7 cycles, row_setup: 3 cycles, outstanding: 2}"))
    cube = attribute(activity)
    assert all(sum(causes.values()) == cube.cycles_total for causes in cube.time_breakdown().values())


@pytest.mark.parametrize("cache", ["", CACHE])
@pytest.mark.parametrize("name", PROGRAMS)
def test_law_37_energy_of_gathers_sums(name: str, cache: str) -> None:
    """Law 37: parts, and layers with _static, sum to the total; a cache's look-ups, reads and fills are paid for."""
    architecture = chip(cache)
    activity = simulate(PROGRAMS[name](), architecture)
    energy = account(activity, architecture, tables_for(architecture))
    assert sum(energy.by_part_zj().values()) == sum(energy.by_layer_zj().values()) == energy.total_zj
    paid = {action for (_, part, action), spent in energy.dynamic_zj.items() if part == "rows" and spent}
    assert paid >= ({"lookups", "read_accesses", "write_accesses"} if cache else set())


@pytest.mark.parametrize("name", PROGRAMS)
def test_law_48_streams_do_not_depend_on_how_they_are_cut(name: str) -> None:
    """Law 48: entries of a stream are the same one by one, and in any batch; a run repeats itself."""
    indices = Indices("zipf", 3, 1.1)
    whole = entries(indices, 500, np.arange(64))
    assert whole.tolist() == [int(entries(indices, 500, np.array([number]))[0]) for number in range(64)]
    first, second = (simulate(PROGRAMS[name](), chip(CACHE)) for _ in range(2))
    assert first == second
