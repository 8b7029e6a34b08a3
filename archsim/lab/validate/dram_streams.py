"""The request streams of the reference runs, by formula: arrival cycles, byte addresses, write flags.

B = bytes a request, S = 2^32 / B; hash = SplitMix64 (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number
Generators", OOPSLA 2014) of seed xor 2i for addresses, xor 2i + 1 for writes. Request i arrives at cycle floor(i
num / den).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from archsim.base.errors import ConfigError, nearest

Numbers = npt.NDArray[np.int64]
SEED = 12345
_SPACE = 1 << 32


def stream(pattern: str, requests: int, request_bytes: int, num: int, den: int) -> tuple[Numbers, Numbers, Numbers]:
    """(arrival cycle, byte address, 1 where written) of each request; raises ConfigError for an unknown pattern."""
    i = np.arange(requests, dtype=np.int64)
    if pattern.startswith("stride") and pattern[6:].isdigit():
        addresses, writes = _strided(i, request_bytes, int(pattern[6:])), np.zeros_like(i)
    elif pattern in _PATTERNS:
        addresses, writes = _PATTERNS[pattern](i, request_bytes)
    else:
        known = (*_PATTERNS, "strideN")
        raise ConfigError(f"no request pattern '{pattern}'{nearest(pattern, known)}; allowed {', '.join(known)}")
    return i * num // den, addresses % _SPACE, np.broadcast_to(writes, i.shape).astype(np.int64)


def _hash(numbers: Numbers) -> Any:
    """SplitMix64."""
    with np.errstate(over="ignore"):
        x = (np.uint64(SEED) ^ numbers.astype(np.uint64)) + np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _coin(i: Numbers) -> Numbers:
    return np.asarray(_hash(2 * i + 1) & np.uint64(1), np.int64)


def _anywhere(i: Numbers, size: int) -> Numbers:
    return np.asarray(_hash(2 * i) % np.uint64(_SPACE // size), np.int64) * size


def _strided(i: Numbers, size: int, stride: int) -> Numbers:
    """Steps of ``stride``; each round through the memory begins a request further on."""
    rounds, offset = np.divmod(i * stride, _SPACE)
    return np.asarray((offset + rounds * size % stride) // size * size)


def _copy(i: Numbers, size: int) -> tuple[Numbers, Numbers]:
    """16 reads, then 16 writes, both sequential, 2 GiB apart."""
    block, at = np.divmod(i, 32)
    writes = at >= 16
    addresses = np.where(writes, (1 << 31) + (block * 16 + at - 16) * size, (block * 16 + at) * size)
    return addresses, writes.astype(np.int64)


def _tiles(i: Numbers, size: int) -> tuple[Numbers, Numbers]:
    """Three tensors in turn, 8 requests each, tiles of 64 rows x 256 B, pitch 4096 B; the third is written."""
    group, at = np.divmod(i, 8)
    tensor, number = group % 3, group // 3 * 8 + at
    in_row = 256 // size
    tile, inside = np.divmod(number, 64 * in_row)
    row, column = np.divmod(inside, in_row)
    down, across = np.divmod(tile, 16)
    addresses = tensor * (1 << 28) + (down * 64 + row) * 4096 + across * 256 + column * size
    return addresses, (tensor == 2).astype(np.int64)


def _four_readers(i: Numbers, size: int) -> tuple[Numbers, Numbers]:
    """Four readers in turn, tiles of 32 rows x 128 B with a pitch of 1792 B."""
    number, reader = np.divmod(i, 4)
    in_row = max(1, 128 // size)
    tile, inside = np.divmod(number, 32 * in_row)
    row, column = np.divmod(inside, in_row)
    down, across = np.divmod(tile, 14)
    addresses = reader * ((1 << 27) + 8192) + (down * 32 + row) * 1792 + across * 128 + column * size
    return addresses // size * size, np.zeros_like(i)


_PATTERNS: dict[str, Callable[[Numbers, int], tuple[Numbers, Any]]] = {
    "seq_rd": lambda i, size: (i * size, 0),
    "seq_wr": lambda i, size: (i * size, 1),
    "seq_mix": lambda i, size: (i * size, _coin(i)),
    "rand_rd": lambda i, size: (_anywhere(i, size), 0),
    "rand_wr": lambda i, size: (_anywhere(i, size), 1),
    "rand_mix": lambda i, size: (_anywhere(i, size), _coin(i)),
    "rw_stream": _copy,
    "dma_tile": _tiles,
    "dma_tile4": _four_readers,
}
