"""Address maps as users write them, and where bursts land."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archsim.base.errors import ConfigError
from archsim.facts.dram import catalogue
from archsim.facts.dram.address import by_name
from archsim.facts.dram.bit_order import mapped
from archsim.facts.dram.device import ControllerPolicy, DramMemory
from archsim.memory.dram.address_images import images
from archsim.memory.dram.compiled.records import BANK_BITS, CHUNK_BITS, COLUMN_BITS
from archsim.memory.dram.trace import replay

GIB = 1 << 30
DDR4 = catalogue.dram("ddr4", 2400, 64, 2, 16 * GIB)  # two channels of one rank: 7 column, 2 + 2 bank, 16 row bits
FIELDS = {"row": 16, "bank": 2, "bankgroup": 2, "column": 7}


def located(memory: DramMemory, text: str, burst: int) -> tuple[int, int, int]:
    """Bank, column, row of a burst of a channel, from the kernel's images."""
    mapping, _ = mapped(text, memory)
    table, image = images(memory.device, mapping), 0
    for chunk in range(len(table)):
        image ^= int(table[chunk, (burst >> (CHUNK_BITS * chunk)) & ((1 << CHUNK_BITS) - 1)])
    return image & 0xFFF, (image >> BANK_BITS) & 0xFFFF, image >> (BANK_BITS + COLUMN_BITS)


def test_an_order_from_the_highest_bit_to_the_lowest() -> None:
    """row 16, bank 2, bank group 2, column 5, channel, column 2: the channel's bit is none of its bursts' bits."""
    text = "row bank bankgroup rank column:5 channel column:2"
    burst = 77 << 11 | 2 << 9 | 1 << 7 | 0b10110 << 2 | 0b01
    assert located(DDR4, text, burst) == (1 * 4 + 2, 0b1011001, 77)
    assert mapped(text, DDR4)[1] == 4
    assert located(DDR4, "column row bank bankgroup channel", 5 << 20 | 77 << 4 | 3 << 2 | 2) == (2 * 4 + 3, 5, 77)


def test_named_maps_are_orders() -> None:
    one = catalogue.dram("ddr4", 2400, 64, 1, 8 * GIB)
    assert mapped("RoBaRaCoCh", DDR4) == (by_name("RoBaRaCoCh", DDR4.device), 1)
    for burst in (0, 1, 99, 12345, 1 << 20, (1 << 26) - 1):
        assert located(DDR4, "row bank bankgroup rank column channel", burst) == located(DDR4, "RoBaRaCoCh", burst)
        assert located(one, "row bank bankgroup column", burst) == located(one, "RoBaRaCoCh", burst)


def test_rows_are_folded_into_the_bank() -> None:
    """Row bits two by two: 0b011011 is 01 ^ 10 ^ 11 = 0, a column stays where it is."""
    text = "row bank^row bankgroup column channel"
    assert located(DDR4, text, 0b011011 << 11 | 2 << 9 | 1 << 7 | 5) == (1 * 4 + (2 ^ 0), 5, 0b011011)
    assert located(DDR4, text, 0b0111 << 11 | 2 << 9 | 1 << 7 | 5) == (1 * 4 + (2 ^ 0b01 ^ 0b11), 5, 0b0111)
    assert located(DDR4, "row bank bankgroup^column column channel", 0b1110110) == (
        (0b10 ^ 0b01 ^ 0b11 ^ 0b1) * 4,
        0b1110110,
        0,
    )


def test_the_lowest_bits_may_be_left_out() -> None:
    """Rows 0 to 3 are where they were, row 0b100 is in the next bank."""
    text = "row bank^row@2 bankgroup column channel"
    assert [located(DDR4, text, row << 11)[0] for row in range(8)] == [0] * 4 + [1] * 4


def test_rows_at_any_power_of_two_lie_in_all_banks() -> None:
    """Of 16 rows 2^n apart each bank and bank group has four; without the hash one bank has all."""
    for bit in range(0, 12):
        rows = [n << bit << 11 for n in range(16)]
        banks = [located(DDR4, "row bank^row bankgroup column channel", burst)[0] for burst in rows]
        assert sorted(banks) == sorted([0, 1, 2, 3] * 4)
        assert {located(DDR4, "row bank bankgroup column channel", burst)[0] for burst in rows} == {0}


@st.composite
def orders(draw: st.DrawFn) -> str:
    """Fields in any order, each perhaps split in two, the bank perhaps hashed."""
    parts = ["channel"]
    for name, bits in FIELDS.items():
        cut = draw(st.integers(0, bits - 1))
        hashed = draw(st.sampled_from(["", "^row", "^column"])) if name in ("bank", "bankgroup") else ""
        parts += [f"{name}:{cut}", f"{name}:{bits - cut}{hashed}"] if cut else [f"{name}{hashed}"]
    return " ".join(draw(st.permutations(parts)))


@given(orders(), st.integers(0, (1 << 27) - 512))
@settings(max_examples=30, deadline=None, derandomize=True)
def test_every_order_is_one_to_one(text: str, first: int) -> None:
    mapping, interleave = mapped(text, DDR4)
    assert sum(bits for _, bits in mapping.fields) in (27, 27 - FIELDS["row"])
    assert interleave & (interleave - 1) == 0
    assert len({located(DDR4, text, burst) for burst in range(first, first + 512, 37)}) == 14


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("RoBaRaCoC", "no address map 'RoBaRaCoC'.*RoBaRaCoCh.*or an order of bits such as"),
        ("row bank bankgrup column channel", "no field 'bankgrup'.*bankgroup"),
        ("row bank bankgroup column", "no channel; this memory has 1 bits of it"),
        ("row bank column channel", "no bankgroup; this memory has 2 bits of it"),
        ("row bank bankgroup column channel column", "column 2 times; a split field needs the sizes"),
        ("row bank bankgroup column:3 channel column:3", "column: found parts of 6 bits in all; this memory has 7"),
        ("row bank bankgroup column:9 channel column", "column: found parts of 9 bits in all; this memory has 7"),
        ("row bank bankgroup column:7 channel column", "column: found parts of 7 bits in all"),
        ("row bank:0 bankgroup column channel", "found 'bank:0'"),
        ("row bank bankgroup column channel:1", "found 'channel:1'"),
        ("row bank bankgroup column:x channel", "found 'column:x'"),
        ("row channel bank bankgroup column channel", "channel 2 times"),
        ("row^bank bank bankgroup column channel", "found 'row\\^bank'; allowed bank, bankgroup, rank with \\^row or"),
        ("row bank^channel bankgroup column channel", "found 'bank\\^channel'"),
        ("row bank^row:2 bankgroup column channel", "found 'bank\\^row:2'; allowed .*, perhaps @BIT"),
        ("row bank:1^row bankgroup bank:1^column column channel", "more than one field is XORed into another"),
    ],
)
def test_wrong_orders_are_refused(text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        mapped(text, DDR4)


def test_a_number_of_rows_that_is_no_power_of_two_is_the_highest_field() -> None:
    odd = catalogue.dram("ddr4", 2400, 64, 2, 12 * GIB)
    assert odd.rows == 3 << 14
    assert mapped("row bank bankgroup column channel", odd)[1] == 1
    with pytest.raises(ConfigError, match="row: its number is no power of two, so it has to be the highest field"):
        mapped("bank row bankgroup column channel", odd)


@pytest.mark.slow
def test_bursts_stay_on_a_channel_as_long_as_the_map_says() -> None:
    """Four bursts of 64 B on a channel, then the next: requests by channel, and equal times by symmetry."""
    bursts = np.arange(64)
    for channels, interleave in ((2, 4), (3, 1), (3, 4)):
        writes, arrivals = np.zeros(64, np.int64), np.zeros(64, np.int64)
        result = replay(
            DDR4.device, by_name("RoBaRaCoCh", DDR4.device), ControllerPolicy(), arrivals,
            bursts * 64, writes, channels, False,
            interleave,
        )  # fmt: skip
        expected = np.bincount(bursts // interleave % channels, minlength=channels)
        assert (result.hits + result.misses + result.conflicts == expected).all()
