"""Compiled entries as files: machine code, the function in it that is the entry, and what that returns.

A file is for arguments of some kinds on processors of one kind, and sealed (``archsim.base.sealed``). An entry is
called as Numba's compiled functions call one another, with where the words of its arguments lie side by side:
``int32 entry(result *, error **, words *)``.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import pickle
import struct
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from archsim.base import entries, machine_code, sealed, sources

_PROCESSORS = Path("/proc/cpuinfo")
FITS = machine_code.FITS and os.access(_PROCESSORS, os.R_OK)
_RESULTS: dict[str, Any] = {
    "none": ctypes.c_void_p, "bool": ctypes.c_bool, "float64": ctypes.c_double,
    **{f"{sign}int{bits}": getattr(ctypes, f"c_{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)},
}  # fmt: skip
_TUPLE = "tuple"
_FINE, _NONE = 0, -2  # what a function returns beside its result; anything else is an error
_SETTINGS = "NUMBA_"  # of the environment, by which code may differ, but for these
_WITHOUT_EFFECT = frozenset(
    f"{_SETTINGS}{name}"
    for name in ("CACHE_DIR", "CACHE_LOCATOR_CLASSES", "NUM_THREADS", "THREADING_LAYER", "THREADING_LAYER_PRIORITY")
)
_SETTINGS_FILE = Path(".numba_config.yaml")  # from which Numba takes settings too


class NativeCode(NamedTuple):
    """An entry in memory, and what it returns: the name of a type, or ``tuple`` and those of its parts."""

    address: int
    returns: tuple[str, ...]


class _Error(ctypes.Structure):
    """What a function that fails says: a pickle of class, arguments and place, and whether it was made for this."""

    _fields_ = (
        ("text", ctypes.c_void_p), ("size", ctypes.c_int32), ("hash", ctypes.c_void_p), ("unwrap", ctypes.c_void_p),
        ("made", ctypes.c_int32),
    )  # fmt: skip


def file_of(function: Any, folder: Path, kinds: str) -> Path:
    """Where the entry of a function lies for arguments of these kinds."""
    key = f"{kinds} {sealed.source_sha256(function.__code__.co_filename)} {_processor()}"
    return sealed.place_of(function, folder) / f"{_name(function)}.{hashlib.sha256(key.encode()).hexdigest()[:24]}.code"


def is_kept(function: Any, folder: Path) -> bool:
    """Whether the entry of a function is there for some arguments, on processors of this kind."""
    return any(sealed.place_of(function, folder).glob(f"{_name(function)}.*.code"))


def _name(function: Any) -> str:
    name = f"{function.__module__.rpartition('.')[2]}.{function.__qualname__}-{function.__code__.co_firstlineno}"
    return f"{name.replace('<', '').replace('>', '')}.{_processor()[:8]}"


def read(file: Path, root: Path) -> NativeCode | None:
    """The entry that a file holds, put into memory; None where there is none.

    Raises ``machine_code.UnloadableError`` where it cannot be put there: Numba loads it then.
    """
    found = sealed.opened(file, root)
    if found is None:
        return None
    told, _, code = found.partition(b"\n")
    symbol, returns = json.loads(told)
    return loaded(symbol, returns, code)


def loaded(symbol: str, returns: Sequence[str], code: bytes) -> NativeCode:
    """The entry ``symbol`` of an object file, put into memory. Raises ``machine_code.UnloadableError``."""
    unknown = [each for each in returns if each not in _RESULTS and each != _TUPLE]
    if unknown:
        raise machine_code.UnloadableError(f"it returns {unknown[0]}")
    functions = machine_code.load(code)
    if symbol.encode() not in functions:
        raise machine_code.UnloadableError(f"no function '{symbol}'")
    return NativeCode(functions[symbol.encode()], tuple(returns))


def keep(file: Path, root: Path, symbol: str, returns: Sequence[str], code: bytes) -> None:
    """Write an entry, unless sources have changed meanwhile; a folder that cannot be written costs the cache."""
    if not sources.are_as_read():
        return
    try:
        sealed.make(file.parent)
        sealed.kept(file, json.dumps([symbol, [*returns]]).encode() + b"\n" + code)
    except OSError as error:
        entries.unkept(root, error)


def caller(code: NativeCode, words: Sequence[Any]) -> Callable[..., Any]:
    """An entry as Python calls it, with words as these, whole numbers and fractions in the same places."""
    result, read = _result(code.returns)
    laid_out = struct.Struct("".join("d" if isinstance(word, float) else "q" for word in words)).pack
    entry = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(code.address)

    def call(*given: Any) -> Any:
        found, error = result(), ctypes.c_void_p()
        status = entry(ctypes.addressof(found), ctypes.addressof(error), laid_out(*given))
        if status not in (_FINE, _NONE):
            raise raised(status, error.value)
        return read(found) if status != _NONE else None

    return call


def _result(returns: tuple[str, ...]) -> tuple[Any, Callable[[Any], Any]]:
    """Where an entry writes its result, and how that is read."""
    if returns[0] != _TUPLE:
        return _RESULTS[returns[0]], lambda found: None if returns == ("none",) else found.value
    names = [f"part{number}" for number in range(len(returns) - 1)]
    fields = [(name, _RESULTS[each]) for name, each in zip(names, returns[1:], strict=True)]
    made = type("Result", (ctypes.Structure,), {"_fields_": fields})
    return made, lambda found: tuple([getattr(found, name) for name in names])


def raised(status: int, error: int | None) -> BaseException:
    """What compiled code raised."""
    if status > 0 and error:
        told = _Error.from_address(error)
        if not told.made:
            kind, arguments, _ = pickle.loads(ctypes.string_at(told.text, told.size))
            found: BaseException = kind(*(arguments or ()))
            return found
    return SystemError(f"compiled code failed ({status})")


@cache
def _processor() -> str:
    """What code depends on beside its sources: the processor as the system describes it, and how Numba is set."""
    found = hashlib.sha256()
    with _PROCESSORS.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            if not line.strip():
                break
            if line.startswith(("vendor_id", "cpu family", "model", "stepping", "flags")):
                found.update(line.encode())
    for name in sorted(name for name in os.environ if name.startswith(_SETTINGS) and name not in _WITHOUT_EFFECT):
        found.update(f"{name}={os.environ[name]}\n".encode())
    with suppress(OSError):
        found.update(_SETTINGS_FILE.read_bytes())
    return found.hexdigest()
