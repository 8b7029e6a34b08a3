"""Address maps by name: which bits of a burst's number choose its bank, its column and its row."""

from __future__ import annotations

from archsim.base.errors import ConfigError, nearest
from archsim.facts.dram.device import AddressMap, DramChannel

DEFAULT = "RoRaBaCoBg"
NAMES = (DEFAULT, "RoBaRaCoCh", "MOP4CLXOR")
CHUNK_OF_LINES = 2  # column bits below the banks in MOP4CLXOR: four bursts of a row in turn


def by_name(name: str, device: DramChannel) -> AddressMap:
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


def _banks(device: DramChannel) -> tuple[tuple[str, int], ...]:
    return ("rank", _bits(device.ranks)), ("bankgroup", _bits(device.groups)), ("bank", _bits(device.banks))


def _ro_ra_ba_co_bg(device: DramChannel) -> AddressMap:
    rank, group, bank = _banks(device)
    inner = (group, ("column", _bits(device.columns)), bank)
    return AddressMap((rank, *inner) if device.buses > 1 else (*inner, rank))


def _ro_ba_ra_co_ch(device: DramChannel) -> AddressMap:
    return AddressMap((("column", _bits(device.columns)), *_banks(device)))


def _mop4clxor(device: DramChannel) -> AddressMap:
    columns = _bits(device.columns)
    if columns < CHUNK_OF_LINES:
        raise ConfigError(f"MOP4CLXOR: {device.columns} bursts in a row; allowed 4 or more")
    banks = _banks(device)
    starts = [sum(bits for _, bits in banks[:i]) for i in range(len(banks) + 1)]
    fields = (("column", CHUNK_OF_LINES), *banks, ("column", columns - CHUNK_OF_LINES))
    return AddressMap(fields, tuple(zip(("rank", "bankgroup", "bank", "row"), ("column",) * 4, starts, strict=True)))


def _bits(power_of_two: int) -> int:
    return power_of_two.bit_length() - 1
