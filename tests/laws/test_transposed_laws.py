"""Laws of moves whose sides are contiguous in different orders: 25, where one of them goes element by element."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archsim.facts.banks import banking, lost_cycles
from archsim.ir.activity import Activity
from archsim.ir.program import Command, Extent, Region
from archsim.spec.architecture import Architecture
from archsim.system import simulate
from tests.laws.builders import LOAD, STORE, chip, constant_dram, program, queue, scratchpad, tensor
from tests.unit.test_machine_moves import counts

BANKS, WORD, CYCLE = 8, 8, 1000
PLACES = {"off": "din", "near": "l1", "wide": "far"}
TENSORS = tuple(tensor(name, memory) for name, memory in PLACES.items())
WAYS = [("off", "near"), ("near", "off"), ("near", "wide"), ("wide", "near")]
sizes = st.integers(1, 40)


def on() -> Architecture:
    return chip([constant_dram("din", 4096), scratchpad("far", 2**12), scratchpad("l1", BANKS, word_bytes=WORD)])


def moved(source: str, target: str, rows: int, cols: int, element: int, *, turned: bool) -> Activity:
    """A dense matrix from ``source`` to ``target``, transposed on the way or not."""
    straight, across = (("r", cols * element), ("c", element)), (("r", element), ("c", rows * element))
    command = Command(
        "move",
        "MOVE",
        "one",
        extents=(Extent("r", rows), Extent("c", cols)),
        reads=(Region("src", source, element, straight),),
        writes=(Region("dst", target, element, across if turned else straight),),
    )
    engine = STORE if target == "off" else LOAD
    return simulate(program(queue(engine, command), tensors=TENSORS), on())


@pytest.mark.parametrize(("source", "target"), WAYS)
@given(rows=sizes, cols=sizes, element=st.sampled_from([1, 2, 4, 8]))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_law_25_transposing_is_never_cheaper(source: str, target: str, rows: int, cols: int, element: int) -> None:
    """Law 25: transposed, a move takes as long or longer, and as many accesses or more; equal where a dim is 1."""
    plain, turned = (moved(source, target, rows, cols, element, turned=way) for way in (False, True))
    assert turned.total_ps >= plain.total_ps
    for name in PLACES.values():
        before, after = counts(plain, name), counts(turned, name)
        assert before.keys() == after.keys() and all(after[key] >= before[key] for key in before)
        assert all(after[key] == before[key] for key in before if "accesses" not in key)
    if 1 in (rows, cols):
        assert turned.total_ps == plain.total_ps and turned.counts == plain.counts


@pytest.mark.parametrize(("source", "target", "way"), [("off", "near", "write"), ("near", "off", "read")])
@given(rows=st.integers(2, 40), cols=st.integers(2, 40), element=st.sampled_from([1, 2, 4, 8]))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_law_25_each_element_is_an_access(
    source: str, target: str, way: str, rows: int, cols: int, element: int
) -> None:
    """Law 25: in the order of DRAM; on the chip an access for each element, which loses what its banks say."""
    found = moved(source, target, rows, cols, element, turned=True)
    assert counts(found, "l1") == {f"{way}_bytes": rows * cols * element, f"{way}_accesses": rows * cols}
    slow, quick = (rows, cols) if way == "write" else (cols, rows)
    outer = ((slow, element), (quick, slow * element))
    lost = lost_cycles(banking(on().memory("l1")), 1, element, outer, 0)
    assert found.total_ps == CYCLE * ceil(Fraction(rows * cols * element, BANKS * WORD) + lost)
    dense = counts(moved(source, target, rows, cols, element, turned=False), "l1")
    assert dense[f"{way}_accesses"] == -(-rows * cols * element // WORD)


@pytest.mark.parametrize(("rows", "cycles"), [(8, 64), (9, 9)])
def test_a_pitch_of_all_banks_is_one_bank(rows: int, cycles: int) -> None:
    """8 columns of words: 8 words apart each is in the bank of the one before, 9 words apart in the next."""
    assert moved("off", "near", rows, 8, WORD, turned=True).total_ps == CYCLE * cycles
