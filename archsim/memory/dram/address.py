"""Address maps by name, and their images for the kernel.

Every field's bit is a parity of bits of the burst's number (one bit, or several XORed), so a map is linear over
GF(2): the image of a number is the XOR of the images of its chunks. The kernel looks those up.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from archsim.errors import ConfigError, nearest
from archsim.memory.dram.device import AddressMap, Device
from archsim.memory.dram.kernel.layout import BANK_BITS, CHUNK_BITS, CHUNKS, COLUMN_BITS

DEFAULT = "RoRaBaCoBg"
NAMES = (DEFAULT, "RoBaRaCoCh", "MOP4CLXOR")
CHUNK_OF_LINES = 2  # column bits below the banks in MOP4CLXOR: four bursts of a row in turn


def by_name(name: str, device: Device) -> AddressMap:
    """A map for a device by name; raises ConfigError for another name.

    From the lowest bit, RoRaBaCoBg: bank group (before it HBM's pseudo-channel), column, bank, rank, row, so that a
    stream walks over the bank groups of a row. RoBaRaCoCh: column, rank, bank group, bank, row. MOP4CLXOR: two
    column bits, rank, bank group, bank, the other column bits, row; then consecutive column bits from the lowest on
    are XORed into rank, bank group, bank, row.
    """
    makers = dict(zip(NAMES, (_ro_ra_ba_co_bg, _ro_ba_ra_co_ch, _mop4clxor), strict=True))
    if name not in makers:
        raise ConfigError(f"no address map '{name}'{nearest(name, NAMES)}; allowed {', '.join(NAMES)}")
    return makers[name](device)


def _banks(device: Device) -> tuple[tuple[str, int], ...]:
    return ("rank", _bits(device.ranks)), ("bankgroup", _bits(device.groups)), ("bank", _bits(device.banks))


def _ro_ra_ba_co_bg(device: Device) -> AddressMap:
    rank, group, bank = _banks(device)
    inner = (group, ("column", _bits(device.columns)), bank)
    return AddressMap((rank, *inner) if device.buses > 1 else (*inner, rank))


def _ro_ba_ra_co_ch(device: Device) -> AddressMap:
    return AddressMap((("column", _bits(device.columns)), *_banks(device)))


def _mop4clxor(device: Device) -> AddressMap:
    columns = _bits(device.columns)
    if columns < CHUNK_OF_LINES:
        raise ConfigError(f"MOP4CLXOR: {device.columns} bursts in a row; allowed 4 or more")
    banks = _banks(device)
    starts = [sum(bits for _, bits in banks[:i]) for i in range(len(banks) + 1)]
    fields = (("column", CHUNK_OF_LINES), *banks, ("column", columns - CHUNK_OF_LINES))
    return AddressMap(fields, tuple(zip(("rank", "bankgroup", "bank", "row"), ("column",) * 4, starts, strict=True)))


def _bits(power_of_two: int) -> int:
    return power_of_two.bit_length() - 1


def images(device: Device, mapping: AddressMap) -> Any:
    """(CHUNKS, 2^CHUNK_BITS) packed bank, column and row of every value of every chunk of a burst's number."""
    table = np.zeros((CHUNKS, 1 << CHUNK_BITS), np.int64)
    for chunk in range(CHUNKS):
        for value in range(1 << CHUNK_BITS):
            table[chunk, value] = _image(device, mapping, value << (CHUNK_BITS * chunk))
    return table


def _image(device: Device, mapping: AddressMap, burst: int) -> int:
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
