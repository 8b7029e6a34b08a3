"""Machine code that LLVM has emitted, put into memory without LLVM, whose library alone takes 40 MB of every process.

What is read is an object file (ELF, x86-64, as System V's ABI describes it) of code for any distance, as Numba makes
it: its sections that take memory are laid out one after the other, and addresses are written where it asks for them,
in two ways only: as they are, or as a distance. Whatever else a file asks for is refused, as are symbols that neither
the file nor the C library has; then LLVM loads it (``archsim.base.compiled``). What wraps a function for Python is left
as it is: its functions ask for symbols of Numba's, and are not called.
"""

from __future__ import annotations

import ctypes
import mmap
import platform
import struct
import sys
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

FITS = sys.platform == "linux" and platform.machine() == "x86_64"  # elsewhere nothing is loaded in this way

_WRAPPERS = (b"_ZN7cpython", b"cfunc.", b"_ZN5cfunc")  # how names of functions begin that wrap others for Python
_HEADER, _SECTION, _SYMBOL, _PLACE = (struct.Struct(form) for form in ("<40xQ10x3H", "<2I4Q2I2Q", "<IBBHQQ", "<QIIq"))
_BITS, _SYMBOLS, _ADDED, _NO_BITS = 1, 2, 4, 8  # types of sections
_WRITABLE, _ALLOCATED = 1, 2  # flags of a section
_NOWHERE, _ABSOLUTE, _COMMON = 0, 0xFFF1, 0xFFF2  # sections of symbols
_AS_IT_IS, _DISTANCE = 1, 24  # R_X86_64_64, R_X86_64_PC64
_FUNCTION = 2  # type of a symbol
_ALIGNED = 64  # bytes: no section asks for more


class UnloadableError(Exception):
    """An object file asks for what is not done here."""


class _Section(NamedTuple):
    name: int
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    aligned: int
    row: int


class _Symbol(NamedTuple):
    name: bytes
    kind: int
    section: int
    value: int
    size: int


def load(code: bytes) -> dict[bytes, int]:
    """Put an object file into memory for good; the addresses of its functions by name. Raises UnloadableError."""
    if not FITS or code[:6] != b"\x7fELF\x02\x01":
        raise UnloadableError("no object file of this machine")
    sections = [*_sections(code)]
    symbols = [*_symbols(code, sections)]
    _check(sections)
    begins, size = _laid(sections, 0)
    commons = {number: size + _ALIGNED * at for at, number in enumerate(_commons(symbols))}
    size += _ALIGNED * len(commons)
    memory = mmap.mmap(-1, max(size, 1), prot=mmap.PROT_READ | mmap.PROT_WRITE)
    base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    for number, begin in begins.items():
        if sections[number].kind != _NO_BITS:
            each = sections[number]
            memory[begin : begin + each.size] = code[each.offset : each.offset + each.size]
    unused = [(symbol.section, symbol.value, symbol.value + symbol.size) for symbol in symbols if _wraps(symbol)]
    for target, place, kind, number, added in _places(code, sections):
        if target not in begins or any(in_ == target and low <= place < high for in_, low, high in unused):
            continue
        if not 0 <= place <= sections[target].size - 8:
            raise UnloadableError("an address outside its section")
        at = begins[target] + place
        address = _address(number, symbols, begins, commons, base) + added
        memory[at : at + 8] = _written(kind, address, base + at)
    _runnable(base, len(memory))
    _LOADED.append(memory)
    return {each.name: base + begins[each.section] + each.value for each in symbols if _is_here(each, begins)}


_LOADED: list[mmap.mmap] = []  # never freed: others may have the addresses


def _sections(code: bytes) -> Iterator[_Section]:
    first, width, count, _ = _HEADER.unpack_from(code)
    for number in range(count):
        yield _Section(*_SECTION.unpack_from(code, first + number * width))


def _symbols(code: bytes, sections: list[_Section]) -> Iterator[_Symbol]:
    table = next((each for each in sections if each.kind == _SYMBOLS), None)
    if table is None:
        return
    names = sections[table.link].offset
    for at in range(table.offset, table.offset + table.size, _SYMBOL.size):
        name, info, _, section, value, size = _SYMBOL.unpack_from(code, at)
        text = code[names + name : code.index(b"\0", names + name)]
        yield _Symbol(text, info & 15, section, value, size)


def _check(sections: list[_Section]) -> None:
    """Raise UnloadableError for sections that would be written to when the code runs, or that begin more exactly."""
    for each in sections:
        if each.flags & _ALLOCATED and (each.flags & _WRITABLE and each.size or each.aligned > _ALIGNED):
            raise UnloadableError("a section that is written to, or aligned beyond a line")


def _laid(sections: list[_Section], at: int) -> tuple[dict[int, int], int]:
    """Where each section that takes memory begins, by its number, and the end of the last one."""
    begins = {}
    for number, section in enumerate(sections):
        if section.flags & _ALLOCATED:
            begins[number] = at
            at += -(-section.size // _ALIGNED) * _ALIGNED
    return begins, at


def _commons(symbols: list[_Symbol]) -> list[int]:
    """Symbols that are a word or so of their own, by number."""
    found = [number for number, each in enumerate(symbols) if each.section == _COMMON]
    if any(symbols[number].size > _ALIGNED for number in found):
        raise UnloadableError("a common symbol is too large")
    return found


def _wraps(symbol: _Symbol) -> bool:
    return symbol.kind == _FUNCTION and symbol.name.startswith(_WRAPPERS)


def _is_here(symbol: _Symbol, begins: dict[int, int]) -> bool:
    return symbol.kind == _FUNCTION and symbol.section in begins and not _wraps(symbol)


def _places(code: bytes, sections: list[_Section]) -> Iterator[tuple[int, int, int, int, int]]:
    """Where addresses are asked for: section, place in it, in which way, of which symbol, and what is added."""
    for section in sections:
        if section.kind == _ADDED:
            for at in range(section.offset, section.offset + section.size, _PLACE.size):
                place, kind, symbol, added = _PLACE.unpack_from(code, at)
                yield section.info, place, kind, symbol, added


def _written(kind: int, address: int, here: int) -> bytes:
    if kind not in (_AS_IT_IS, _DISTANCE):
        raise UnloadableError(f"a relocation of type {kind}")
    return ((address if kind == _AS_IT_IS else address - here) & ~(-1 << 64)).to_bytes(8, "little")


def _address(number: int, symbols: list[_Symbol], begins: dict[int, int], commons: dict[int, int], base: int) -> int:
    symbol = symbols[number]
    if symbol.section in begins:
        return base + begins[symbol.section] + symbol.value
    if number in commons:
        return base + commons[number]
    if symbol.section == _ABSOLUTE:
        return symbol.value
    if symbol.section == _NOWHERE:
        return _of_c_library(symbol.name.decode())
    raise UnloadableError(f"a symbol in section {symbol.section}")


@cache
def _of_c_library(name: str) -> int:
    try:
        found = ctypes.cast(getattr(ctypes.CDLL(None), name), ctypes.c_void_p).value
    except AttributeError:
        found = None
    if found is None:
        raise UnloadableError(f"the symbol '{name}'")
    return found


def _runnable(base: int, size: int) -> None:
    """Have the memory be run, and no longer written."""
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    protect.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    if protect(base, size, mmap.PROT_READ | mmap.PROT_EXEC):
        raise UnloadableError(f"memory cannot be run (error {ctypes.get_errno()})")
