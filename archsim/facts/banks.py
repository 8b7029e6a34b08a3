"""Banks of an on-chip memory: which one holds a word, and how many cycles a strided region takes at them.

**Place.** With w = the number of a word (address / word size), bank(w) is, by the memory's ``interleave``:

- ``word``: w mod banks;
- ``block``: (address / block) mod banks, for blocks of whole words;
- ``xor``: (w mod banks) xor ((w / banks) mod banks), for a power of two of banks: rows of a power of two of words,
  which all begin in one bank under ``word``, begin in different ones;
- ``hashed``: by a hash of all bits of the address, as the slices of a GPU's L2 are chosen, so that no stride meets few
  banks. Queues in front of the banks even out what meets by chance: a region takes as long as its words take when they
  are spread evenly, wherever it lies.

**Issue.** A stream walks its region in address order, run after run. The region is taken to begin where the word of
its first byte does (so of unaligned regions whose strides are no whole words some runs count from a neighbouring
word); a run is taken from the word that it then begins in, and makes ceil(run / word) accesses, as they are counted
for energy. With p ports to each bank, the next G = banks x p accesses form a group: one address a cycle for each port
of each bank. Each port of a bank serves one word a cycle, and accesses of a group to the same word are served
together. The group takes as many cycles as its busiest bank, and the next one is issued when all of it is served:

    cycles = sum over groups of max over banks of ceil(different words of the group in the bank / p)

DMA engines and array feeders work in this lockstep, because what leaves them is a row as wide as the memory: a DMA
beat or the operands of one array edge are passed on when they are complete. Queues in front of each bank would even
out collisions inside their depth; none are assumed. Contiguous words spread evenly over interleaved banks: ceil(words
/ G) cycles, no conflicts.

**In closed form.** Along one axis of the region (extent e, byte stride s, l accesses per index) the pattern of groups
and banks repeats after q = lcm(P / gcd(P, s), G / gcd(G, l)) indices, where P is the number of bytes after which the
banks repeat: q indices are a whole number of groups and end in the bank where they began. So once a block is as long as
a group, q more indices always add the same number of cycles (the distance from the end of the block to the next being
kept), and the sum is affine in the number of periods of each axis, as are the words that each bank serves. It is
evaluated at 0 and 1 periods of each axis and extrapolated, exactly; only these small regions are enumerated.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import product
from math import gcd, lcm, prod
from typing import NamedTuple, Protocol

import numpy as np

from archsim.base.arrays import IntArray

BankAxes = tuple[tuple[int, int], ...]  # (extent, stride in bytes), outermost first


class Banking(NamedTuple):
    """The banks of a memory: ``interleave`` is word, block, xor or hashed; ``block_bytes`` of ``block``."""

    banks: int
    word_bytes: int
    interleave: str = "word"
    block_bytes: int = 0

    @property
    def period_bytes(self) -> int:
        """P: addresses this far apart lie in the same bank."""
        if self.interleave == "xor":
            return self.banks * self.banks * self.word_bytes
        return self.banks * (self.block_bytes or self.word_bytes)

    @property
    def granule_bytes(self) -> int:
        """A region that is moved by this much takes as long: its banks are renamed, no more."""
        return self.period_bytes if self.interleave == "xor" else self.block_bytes or self.word_bytes

    def turn(self, first_byte: int) -> int:
        """By how many banks a region is turned against one at the same place in the first granule."""
        granule = self.granule_bytes
        return first_byte // granule % (self.period_bytes // granule)

    def bank(self, words: IntArray) -> IntArray:
        """Bank of each word number."""
        if self.interleave == "xor":
            return words % self.banks ^ words // self.banks % self.banks
        if self.interleave == "block":
            return words // (self.block_bytes // self.word_bytes) % self.banks
        return words % self.banks


class Banked(Protocol):
    """What has banks."""

    @property
    def banks(self) -> int:
        """How many."""

    @property
    def word_bytes(self) -> int:
        """Bytes that a bank serves at a time."""

    @property
    def interleave(self) -> str:
        """word, block, xor or hashed."""

    @property
    def block_bytes(self) -> int:
        """Of ``block``."""


def banking(memory: Banked) -> Banking:
    """The banks of an sram."""
    return Banking(memory.banks, memory.word_bytes, memory.interleave, memory.block_bytes)


class BankAxis(NamedTuple):
    """An axis cut down to ``extent`` = least + rest indices; ``periods`` more of ``period`` indices were taken off.

    ``gap``: bytes from the last access of an index to the first of the next one.
    """

    extent: int
    period: int
    periods: int
    gap: int


@lru_cache(maxsize=65536)
def stream_cycles(banks: Banking, ports: int, run_bytes: int, outer: BankAxes, first_byte: int) -> int:
    """Cycles of the memory that a region takes by the issue rule.

    The region: runs of ``run_bytes`` contiguous bytes, repeated over ``outer``; ``first_byte``: its address, of which
    only the word counts.
    """
    if banks.interleave == "hashed":
        return -(-_words(banks, run_bytes, outer) // (banks.banks * ports))
    total = 0
    for weight, served in _samples(banks, ports, run_bytes, outer, first_byte):
        total += weight * int((-(-served.max(axis=1) // ports)).sum())
    return total


@lru_cache(maxsize=4096)
def bank_loads(banks: Banking, ports: int, run_bytes: int, outer: BankAxes, first_byte: int) -> tuple[int, ...]:
    """Words that each bank serves for a region: as many as ports x ``stream_cycles`` at most."""
    if banks.interleave == "hashed":
        return (ports * stream_cycles(banks, ports, run_bytes, outer, first_byte),) * banks.banks
    total = [0] * banks.banks
    for weight, served in _samples(banks, ports, run_bytes, outer, first_byte):
        total = [old + weight * new for old, new in zip(total, served.sum(axis=0).tolist(), strict=True)]
    return tuple(total)


@lru_cache(maxsize=65536)
def lost_cycles(banks: Banking, ports: int, run_bytes: int, outer: BankAxes, first_byte: int) -> int:
    """Cycles that a region takes beyond those of as many contiguous bytes in conflict-free banks."""
    words = -(-run_bytes * prod(extent for extent, _ in outer) // banks.word_bytes)
    return stream_cycles(banks, ports, run_bytes, outer, first_byte) - -(-words // (banks.banks * ports))


def _words(banks: Banking, run_bytes: int, outer: BankAxes) -> int:
    """Words of runs that each begin with one of their own."""
    return -(-run_bytes // banks.word_bytes) * prod(extent for extent, _ in outer)


def _samples(
    banks: Banking, ports: int, run_bytes: int, outer: BankAxes, first_byte: int
) -> Iterator[tuple[int, IntArray]]:
    """(weight, words by group and bank) of small regions: what adds up over groups is the weighted sum of theirs."""
    if not run_bytes:
        return
    word = banks.word_bytes
    start = first_byte // word * word % banks.period_bytes
    axes = _reduced(banks, banks.banks * ports, (*outer, (-(-run_bytes // word), word)))
    for corner in product(*((0, 1) if axis.periods else (0,) for axis in axes)):
        weight = prod(
            (axis.periods if more else 1 - axis.periods) if axis.periods else 1
            for axis, more in zip(axes, corner, strict=True)
        )
        yield weight, _enumerated(banks, ports, _strided(axes, corner), start)


def _reduced(banks: Banking, group: int, axes: BankAxes) -> tuple[BankAxis, ...]:
    """The axes without the periods that only add cycles, outermost first."""
    found: list[BankAxis] = []
    accesses, span = 1, 0  # of one index of the axis: accesses as cut down, bytes from its first to its last one
    for extent, stride in reversed(axes):
        period = lcm(banks.period_bytes // gcd(banks.period_bytes, stride), group // gcd(group, accesses))
        least = max(1, -(-(group - 1) // accesses))
        periods = max(0, extent - least) // period
        periods = periods if periods > 1 else 0
        found.append(BankAxis(extent - periods * period, period, periods, stride - span))
        accesses *= found[-1].extent
        span += (extent - 1) * stride
    return tuple(reversed(found))


def _strided(axes: Sequence[BankAxis], corner: Sequence[int]) -> BankAxes:
    """The region with 0 or 1 periods of each axis put back, its gaps as they were."""
    found: list[tuple[int, int]] = []
    span = 0
    for axis, more in zip(reversed(axes), reversed(corner), strict=True):
        extent, stride = axis.extent + more * axis.period, axis.gap + span
        found.append((extent, stride))
        span += (extent - 1) * stride
    return tuple(reversed(found))


def _enumerated(banks: Banking, ports: int, axes: BankAxes, start: int) -> IntArray:
    """Different words by group (row) and bank (column)."""
    bytes_at = np.array([start], dtype=np.int64)
    for extent, stride in axes:
        bytes_at = np.add.outer(bytes_at, np.arange(extent, dtype=np.int64) * stride).ravel()
    words = bytes_at // banks.word_bytes
    group = np.arange(len(words), dtype=np.int64) // (banks.banks * ports)
    low = words.min()
    _, once = np.unique(group * (words.max() - low + 1) + words - low, return_index=True)
    cells = group[once] * banks.banks + banks.bank(words[once])
    served: IntArray = np.bincount(cells, minlength=int(group[-1] + 1) * banks.banks).reshape(-1, banks.banks)
    return served
