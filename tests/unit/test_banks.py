"""Cycles of a region at the banks: the closed form against banks that serve their queues cycle by cycle."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import islice, product
from math import ceil, prod

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from archsim.facts.banks import BankAxes, Banking, bank_loads, lost_cycles, stream_cycles
from archsim.ir.footprint import runs_of

EXACT = settings(max_examples=400, deadline=None, derandomize=True)
MOST_WORDS = 4000


def bank_of(banks: Banking, word: int) -> int:
    """The rule of place, as the chip's documentation words it."""
    if banks.interleave == "xor":
        return (word % banks.banks) ^ (word // banks.banks % banks.banks)
    if banks.interleave == "block":
        return word * banks.word_bytes // banks.block_bytes % banks.banks
    return word % banks.banks


def accesses(banks: Banking, run_bytes: int, outer: BankAxes, first_byte: int) -> Iterator[int]:
    """Words in the order of the stream."""
    start = first_byte // banks.word_bytes * banks.word_bytes
    for index in product(*(range(extent) for extent, _ in outer)):
        at = start + sum(i * stride for i, (_, stride) in zip(index, outer, strict=True))
        for word in range(-(-run_bytes // banks.word_bytes)):
            yield at // banks.word_bytes + word


def ticks(banks: Banking, ports: int, run_bytes: int, outer: BankAxes, first_byte: int) -> int:
    """Cycle by cycle: banks pop their queues; the stream refills them with its next group when all are empty."""
    stream, left = accesses(banks, run_bytes, outer, first_byte), True
    queues: list[list[int]] = [[] for _ in range(banks.banks)]
    now = 0
    while left:
        left = False
        for word in islice(stream, banks.banks * ports):
            left = True
            queue = queues[bank_of(banks, word)]
            if word not in queue:
                queue.append(word)
        while any(queues):
            now += 1
            for queue in queues:
                del queue[:ports]
    return now


@st.composite
def bankings(draw: st.DrawFn) -> Banking:
    word = draw(st.sampled_from([1, 2, 4, 6, 8]))
    interleave = draw(st.sampled_from(["word", "word", "block", "xor"]))
    if interleave == "xor":
        return Banking(draw(st.sampled_from([1, 2, 4, 8])), word, "xor")
    block = word * draw(st.integers(1, 4)) if interleave == "block" else 0
    return Banking(draw(st.integers(1, 9)), word, interleave, block)


def loads(banks: Banking, ports: int, run_bytes: int, outer: BankAxes, first_byte: int) -> tuple[int, ...]:
    """Different words of each group by bank, added up."""
    stream, found = accesses(banks, run_bytes, outer, first_byte), [0] * banks.banks
    while group := set(islice(stream, banks.banks * ports)):
        for word in group:
            found[bank_of(banks, word)] += 1
    return tuple(found)


strides = st.one_of(st.integers(1, 40), st.integers(1, 40).map(lambda n: 16 * n), st.just(64))
axes = st.lists(st.tuples(st.integers(2, 60), strides), max_size=3).map(tuple)
runs = st.one_of(st.integers(1, 20), st.integers(1, 400))


@EXACT
@given(bankings(), st.integers(1, 3), runs, axes, st.integers(0, 2000))
def test_closed_form_is_the_queues(
    banks: Banking, ports: int, run_bytes: int, outer: BankAxes, first_byte: int
) -> None:
    """Exactly, for every interleave, also where runs overlap, share words or do not come in address order."""
    assume(prod(extent for extent, _ in outer) * -(-run_bytes // banks.word_bytes) <= MOST_WORDS)
    region = (banks, ports, run_bytes, outer, first_byte)
    assert stream_cycles(*region) == ticks(*region)
    assert bank_loads(*region) == loads(*region)
    assert max(bank_loads(*region)) <= ports * stream_cycles(*region)


@pytest.mark.slow
@EXACT
@given(
    bankings(),
    st.integers(1, 2),
    st.integers(1, 10),
    st.tuples(st.integers(1, 12), st.integers(20, 400)),
    st.tuples(strides, strides),
)
def test_long_axes_are_extrapolated_exactly(
    banks: Banking, ports: int, run_bytes: int, extents: tuple[int, int], steps: tuple[int, int]
) -> None:
    """The same with an axis of many periods inside or outside a short one."""
    short, long = extents
    for outer in (((short, steps[0]), (long, steps[1])), ((long, steps[0]), (short, steps[1]))):
        kept = tuple(axis for axis in outer if axis[0] > 1)
        assert stream_cycles(banks, ports, run_bytes, kept, 0) == ticks(banks, ports, run_bytes, kept, 0)
        assert bank_loads(banks, ports, run_bytes, kept, 0) == loads(banks, ports, run_bytes, kept, 0)


@EXACT
@given(st.integers(1, 64), st.integers(1, 64), st.integers(1, 4), st.integers(1, 10**9), st.integers(0, 10**6))
def test_contiguous_bytes_lose_nothing(banks: int, word: int, ports: int, size: int, first_byte: int) -> None:
    """Word-interleaved, a run takes its words over all banks and ports, wherever it begins."""
    simple = Banking(banks, word)
    assert stream_cycles(simple, ports, size, (), first_byte) == ceil(
        ceil(Fraction(size, word)) / Fraction(banks * ports)
    )
    assert lost_cycles(simple, ports, size, (), first_byte) == 0


@EXACT
@given(bankings(), st.integers(1, 3), runs, axes, st.integers(0, 500), st.integers(0, 9))
def test_a_shift_by_granules_renames_banks(
    banks: Banking, ports: int, run_bytes: int, outer: BankAxes, first_byte: int, granules: int
) -> None:
    """What a chip may leave out of account of an address; the loads of the banks turn."""
    assume(prod(extent for extent, _ in outer) <= MOST_WORDS)
    moved = first_byte + granules * banks.granule_bytes
    here, there = (bank_loads(banks, ports, run_bytes, outer, at) for at in (first_byte, moved))
    turn = banks.turn(moved) - banks.turn(first_byte)
    assert here == tuple(there[(bank + turn) % banks.banks] for bank in range(banks.banks))
    assert stream_cycles(banks, ports, run_bytes, outer, first_byte) == stream_cycles(
        banks, ports, run_bytes, outer, moved
    )


@pytest.mark.parametrize("ports", [1, 2])
def test_a_column_stands_in_one_bank_and_padded_in_all(ports: int) -> None:
    """Rows of 8 banks x 32 B: a word of each meets in one bank, one word of padding spreads them, xor does as well."""
    plain, hashed = Banking(8, 32), Banking(8, 32, "xor")
    rows = 64
    assert stream_cycles(plain, ports, 32, ((rows, 256),), 0) == rows // ports
    assert stream_cycles(plain, ports, 32, ((rows, 256 + 32),), 0) == rows // (8 * ports)
    assert stream_cycles(hashed, ports, 32, ((rows, 256),), 0) == rows // (8 * ports)
    assert stream_cycles(hashed, ports, 32, ((rows, 256 * 8),), 0) == rows // ports
    assert stream_cycles(plain, ports, 32, ((rows, 512 + 128),), 0) == rows // 2 // ports  # two of the banks


def test_blocks_keep_contiguous_words_in_one_bank() -> None:
    """Block-interleaved by 256 B: eight words in a row are served by one bank, words a block apart by all."""
    blocks = Banking(8, 32, "block", 256)
    assert stream_cycles(blocks, 1, 2048, (), 0) == 64
    assert lost_cycles(blocks, 1, 2048, (), 0) == 56
    assert stream_cycles(blocks, 1, 32, ((64, 256),), 0) == 8


@pytest.mark.parametrize("stride", [64, 256, 1024, 5120, 1 << 20])
@pytest.mark.parametrize("first_byte", [0, 64, 4096])
def test_hashed_banks_are_loaded_evenly(stride: int, first_byte: int) -> None:
    """At any stride and place 40 runs of 200 bytes are 160 words, 4 of 40 banks, however they would meet in them."""
    hashed, plain = Banking(40, 64, "hashed"), Banking(40, 64)
    assert stream_cycles(hashed, 1, 200, ((40, stride),), first_byte) == 4
    assert stream_cycles(hashed, 2, 200, ((40, stride),), first_byte) == 2
    assert bank_loads(hashed, 1, 200, ((40, stride),), first_byte) == (4,) * 40
    assert stream_cycles(plain, 1, 200, ((40, stride),), first_byte) >= 4


def test_one_word_is_served_once_for_a_group() -> None:
    """Every other byte of a word: eight accesses, one cycle of one bank."""
    assert stream_cycles(Banking(8, 32), 1, 1, ((64, 2),), 0) == 8
    assert lost_cycles(Banking(8, 32), 1, 1, ((64, 2),), 0) == 7


def test_huge_regions_are_not_enumerated() -> None:
    """10**15 words would not fit any memory of the machine that runs this."""
    banks, many = Banking(16, 16), 10**5
    assert stream_cycles(banks, 1, 16, ((many, 10**14), (many, 10**8), (many, 256)), 0) == many**3
    assert stream_cycles(banks, 1, 16, ((many, 10**14), (many, 10**8), (many, 16 * 17)), 0) == many**3 // 16


def test_address_order_is_that_of_the_footprint() -> None:
    """A transposed walk over a dense tile is its bytes in order: engines reorder inside a tile."""
    dense = runs_of(0, 1, [(32, 1), (64, 32)])
    assert (dense.run_bytes, dense.outer) == (2048, ())
    assert lost_cycles(Banking(8, 32), 1, dense.run_bytes, dense.outer, 0) == 0
