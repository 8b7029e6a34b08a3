"""Images of address maps for the compiled controller.

Every field's bit is a parity of bits of the burst's number (one bit, or several XORed), so a map is linear over
GF(2): the image of a number is the XOR of the images of its chunks. The compiled controller looks those up.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from archsim.facts.dram.device import AddressMap, DramChannel
from archsim.memory.dram.compiled.records import BANK_BITS, CHUNK_BITS, CHUNKS, COLUMN_BITS


def images(device: DramChannel, mapping: AddressMap) -> Any:
    """(CHUNKS, 2^CHUNK_BITS) packed bank, column and row of every value of every chunk of a burst's number."""
    table = np.zeros((CHUNKS, 1 << CHUNK_BITS), np.int64)
    for chunk in range(CHUNKS):
        for value in range(1 << CHUNK_BITS):
            table[chunk, value] = _image(device, mapping, value << (CHUNK_BITS * chunk))
    return table


def _image(device: DramChannel, mapping: AddressMap, burst: int) -> int:
    found = {"column": 0, "rank": 0, "bankgroup": 0, "bank": 0, "row": 0}
    filled = dict.fromkeys(found, 0)
    widths = dict.fromkeys(found, 0)
    for name, bits in mapping.fields:
        found[name] |= (burst & ((1 << bits) - 1)) << filled[name]
        filled[name] += bits
        widths[name] += bits
        burst >>= bits
    found["row"] |= burst << filled["row"]
    for name, other, start in mapping.xors:
        mask = -1 if name == "row" else (1 << widths[name]) - 1
        found[name] ^= (found[other] >> start) & mask
    bank = (found["rank"] * device.groups + found["bankgroup"]) * device.banks + found["bank"]
    return bank | (found["column"] << BANK_BITS) | (found["row"] << (BANK_BITS + COLUMN_BITS))
