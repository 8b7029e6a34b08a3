"""Banks, words and ports that carry so many bits a cycle: bandwidth = banks x word x ports, each a whole number."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from archsim.frontend.foreign.design import ForeignMemory

NARROW = (16, 8, 4, 2, 1)  # bytes of a word, where the source's does not divide
MOST_WORD, MOST_BANKS, MOST_PORTS = 1 << 16, 1 << 16, 64


@dataclass(frozen=True)
class PortWidth:
    """``doubt``: in which way the stated bandwidth is not exactly this one, '' where it is."""

    banks: int
    word_bytes: int
    ports: dict[str, int]
    doubt: str = ""
    slowed: str = ""  # the direction that has less than the source gives it, with ``why``
    why: str = ""


def width_of(store: ForeignMemory, instances: int, size_bytes: int, wanted_bytes: int) -> PortWidth:
    """What gives the bandwidth of so many instances; ``wanted_bytes`` a cycle where nothing limits it."""
    read = _rate(store.read_bits.value if store.read_bits else None, instances)
    write = _rate(store.write_bits.value if store.write_bits else None, instances)
    doubts, shared = [], store.shared
    if read is None and write is None:
        read = write = Fraction(wanted_bytes)
        doubts.append("no limit is stated: as wide as all processing elements together")
    elif read is None or write is None:
        shared = False
        doubts.append("one direction alone has a limit, the other one is as wide as all processing elements together")
        read, write = _one_sided(read, write, wanted_bytes)
    assert read is not None
    assert write is not None
    slowed, why = "", ""
    if shared and read != write:
        slowed = "read" if read > write else "write"
        why = "both directions share their ports at one rate here, that of the slower one: cycles are too many"
        read = write = min(read, write)
    ports, exact = _shared(read, store.ports) if shared else _separate(read, write)
    unit = max(ceil(exact), 1)
    if unit != exact:
        doubts.append("rounded up to whole bytes")
    if not shared and ports["read"] * write != ports["write"] * read:
        slowed = "read" if read > write else "write"
        why = "both directions at the rate of the slower one, their ratio is none of port counts: cycles are too many"
    if unit > size_bytes:
        unit = size_bytes
        doubts.append("no more than the memory holds")
    free = store.read_bits is None and store.write_bits is None
    word_bytes = store.access_bits.value / 8
    if free:
        unit = max(unit // NARROW[0], 1) * NARROW[0]
        word_bytes = max(word_bytes, Fraction(NARROW[0]))
    banks, word = _banks(unit, word_bytes)
    if banks * word != unit:
        doubts.append("rounded up to whole words")
    if banks * word > size_bytes:
        banks, word = 1, min(size_bytes, MOST_WORD)
        doubts.append("no more than the memory holds")
    return PortWidth(banks, word, ports, "; ".join(dict.fromkeys(doubts)), slowed, why)


def _rate(bits: Fraction | None, instances: int) -> Fraction | None:
    """Bytes a cycle."""
    return None if bits is None else bits * instances / 8


def _one_sided(read: Fraction | None, write: Fraction | None, wanted: int) -> tuple[Fraction, Fraction]:
    """Both rates where one has a limit: the other one has so many more ports that it never limits the array."""
    limited = read if read is not None else write
    assert limited is not None
    free = limited * min(max(ceil(wanted / limited), 1), MOST_PORTS) if limited else Fraction(wanted)
    return (limited, free) if read is not None else (free, limited)


def _shared(rate: Fraction, ports: int) -> tuple[dict[str, int], Fraction]:
    count = ports if 1 <= ports <= MOST_PORTS else 1
    return {"shared": count}, rate / count


def _separate(read: Fraction, write: Fraction) -> tuple[dict[str, int], Fraction]:
    """Ports in the ratio of the rates where that is one of small whole numbers."""
    if min(read, write) > 0:
        ratio = read / write
        if max(ratio.numerator, ratio.denominator) <= MOST_PORTS:
            return {"read": ratio.numerator, "write": ratio.denominator}, write / ratio.denominator
    return {"read": 1, "write": 1}, min(read, write)


def _banks(unit: int, word_bytes: Fraction) -> tuple[int, int]:
    """Banks of the source's word where that divides, else of the widest narrow word that does, else of few words."""
    words = [int(word_bytes)] if word_bytes.denominator == 1 and 1 <= word_bytes <= MOST_WORD else []
    for word in (*words, *NARROW):
        if unit % word == 0 and unit // word <= MOST_BANKS:
            return unit // word, word
    word = min(-(-unit // MOST_BANKS), MOST_WORD)
    return min(-(-unit // word), MOST_BANKS), word
