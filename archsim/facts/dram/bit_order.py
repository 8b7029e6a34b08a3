"""Address maps that users write: by name, or as the order of the fields from the highest bit to the lowest.

``row bank bankgroup rank column:5 channel column:2``: the two lowest bits above the burst are columns, then the
channel, then the other columns, ... A field is whole unless it is split; of the parts of a split one may do without
a size. ``bank^row``: into the bank all of the row's bits are XORed, so many at a time as the bank has, so that rows at
any stride of a power of two, which would meet in a bank, lie in different ones; ``bank^row@2``: from the third one on.
"""

from __future__ import annotations

import re

from archsim.base.errors import ConfigError, nearest
from archsim.facts.dram.address import NAMES, by_name
from archsim.facts.dram.device import AddressMap, DramMemory

FIELDS = ("row", "bank", "bankgroup", "rank", "column", "channel")
HASHED, HASHES = ("bank", "bankgroup", "rank"), ("row", "column")  # so that a hashed map stays one to one
_ALIASES = {"pseudochannel": "rank"}
AddressField = tuple[str, int | None]  # a field's name and its bits


def mapped(text: str, memory: DramMemory) -> tuple[AddressMap, int]:
    """The map on a channel, and the bursts in a row that stay on one; raises ConfigError saying what is wrong.

    Named maps take the lowest bits above the burst for the channel.
    """
    words = text.split()
    if len(words) == 1 and not re.search("[:^]", text) and text not in FIELDS:
        if text not in NAMES:
            allowed = f"{', '.join(NAMES)} or an order of bits such as 'row bank bankgroup rank column channel'"
            raise ConfigError(f"no address map '{text}'{nearest(text, NAMES)}; allowed {allowed}")
        return by_name(text, memory.device), 1
    hashed = [_hash(word, text) for word in words if "^" in word]
    found, interleave = _ordered(text, [_part(word.partition("^")[0], text) for word in words], memory)
    if len({field for field, *_ in hashed}) < len(hashed):
        raise ConfigError(f"map '{text}': more than one field is XORed into another; allowed one")
    return AddressMap(found.fields, tuple(xor for one in hashed for xor in _folded(*one, memory))), interleave


def _hash(word: str, text: str) -> tuple[str, str, int]:
    """The field of a word, the one that is XORed into it, and from which bit on."""
    field, _, other = word.partition("^")
    name = _ALIASES.get(field.partition(":")[0], field.partition(":")[0])
    match = re.fullmatch(r"([a-z]+)(?:@([0-9]+))?", other)
    if name not in HASHED or match is None or match[1] not in HASHES:
        allowed = " or ".join(f"^{other}" for other in HASHES)
        raise ConfigError(f"map '{text}': found '{word}'; allowed {', '.join(HASHED)} with {allowed}, perhaps @BIT")
    return name, match[1], int(match[2] or 0)


def _folded(field: str, other: str, first: int, memory: DramMemory) -> list[tuple[str, str, int]]:
    """All bits of ``other`` from the ``first`` on XORed into ``field``, so many at a time as it has."""
    sizes = _sizes(memory)
    wide = (memory.rows - 1).bit_length() if other == "row" else sizes[other] or 0
    return [(field, other, bit) for bit in range(first, wide, sizes[field] or wide)]


def _part(word: str, text: str) -> AddressField:
    match = re.fullmatch(r"([a-z]+)(?::([0-9]+))?", word)
    name = _ALIASES.get(match[1], match[1]) if match else word.partition(":")[0]
    if name not in FIELDS:
        raise ConfigError(f"map '{text}': no field '{name}'{nearest(name, FIELDS)}; allowed {', '.join(FIELDS)}")
    if match is None or match[2] == "0" or (name == "channel" and match[2]):
        raise ConfigError(f"map '{text}': found '{word}'; allowed a field, and where it is split :BITS of 1 or more")
    return name, int(match[2]) if match[2] else None


def _ordered(text: str, parts: list[AddressField], memory: DramMemory) -> tuple[AddressMap, int]:
    sizes = _sizes(memory)
    fields: list[tuple[str, int]] = []
    interleave = 1
    open_top = parts[0] == ("row", None)
    for name in FIELDS:
        _check(text, name, [bits for other, bits in parts if other == name], sizes[name], open_top)
    for name, bits in reversed(parts[1:] if open_top else parts):
        if name == "channel":
            interleave = 1 << sum(bits for _, bits in fields)
        else:
            named = sum(other or 0 for field, other in parts if field == name)
            fields.append((name, bits if bits is not None else (sizes[name] or 0) - named))
    return AddressMap(tuple(fields)), interleave


def _sizes(memory: DramMemory) -> dict[str, int | None]:
    """Bits of each field; None where their number is not whole."""
    device = memory.device
    counts = {
        "row": memory.rows,
        "bank": device.banks,
        "bankgroup": device.groups,
        "rank": device.ranks,
        "column": device.columns,
        "channel": memory.channels,
    }
    return {name: None if n & (n - 1) else n.bit_length() - 1 for name, n in counts.items()}


def _check(text: str, name: str, given: list[int | None], size: int | None, open_top: bool) -> None:
    """Refuse what does not make a whole field of ``size`` bits."""
    named = sum(bits or 0 for bits in given)
    whole = given.count(None)
    if not given and size != 0:
        raise ConfigError(f"map '{text}': no {name}; this memory has {size or 'some'} bits of it")
    if whole > 1 or (name == "channel" and len(given) > 1):
        raise ConfigError(
            f"map '{text}': {name} {len(given)} times; a split field needs the sizes of all parts but one"
        )
    if name == "channel" or (name == "row" and open_top):
        return
    if size is None:
        raise ConfigError(f"map '{text}': {name}: its number is no power of two, so it has to be the highest field")
    fits = (named < size or len(given) == 1) if whole else named == size
    if given and not fits:
        raise ConfigError(f"map '{text}': {name}: found parts of {named} bits in all; this memory has {size}")
