"""What compiled functions are made from: a digest of sources, kept in the cache for as long as no file changes."""

from __future__ import annotations

import hashlib
import json
import os
import re
import zlib
from collections.abc import Iterator
from pathlib import Path

from archsim.base import caches, entries, trust

PACKAGES = ("archsim", "mapper")
_CONSTANTS = re.compile(
    rb"^from ((?:archsim|mapper)[.\w]*) import (?:\([^)]*?|[^(\n]*?)\b[A-Z][A-Z_0-9]+\b", re.MULTILINE
)
_MODULES = re.compile(rb"^from ((?:archsim|mapper)[.\w]*) import \(?([^)#\n]*)", re.MULTILINE)


def digest(root: Path, maker: str, beside: tuple[Path, ...]) -> str:
    """Of every file in a folder with functions of the module ``maker``, of those that such a file has constants from,
    one by one or as a module, which are compiled into them as layouts are, and of those ``beside``; alike in every
    clone, whatever its ``root``.

    What was found is kept under the places, times and sizes of all files.
    """
    place = _place(root)
    key = _read[root, maker] = _state(root, maker)
    found = _remembered(place, key)
    if not found:
        found = _digest(root, maker, beside)
        _remember(place, key, found)
    return found


_read: dict[tuple[Path, str], str] = {}  # in which state this process has found files


def are_as_read() -> bool:
    """Whether no file has changed since its digest was taken: a module that is imported later may have another text."""
    try:
        return all(_state(*of) == state for of, state in _read.items())
    except OSError:
        return False


def _place(root: Path) -> Path | None:
    folder = caches.folder()
    return folder / "sources" / f"{zlib.crc32(f'{root}'.encode()):08x}.json" if folder is not None else None


def _state(root: Path, maker: str) -> str:
    found = hashlib.sha256(f"{root} {maker}".encode())
    for package in PACKAGES:
        for path, state in sorted(_files(f"{root / package}")):
            found.update(f"{path} {state.st_mtime_ns} {state.st_ctime_ns} {state.st_size}\n".encode())
    return found.hexdigest()


def _files(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    with os.scandir(folder) as listed:
        for each in listed:
            if each.is_dir():
                yield from _files(each.path)
            elif each.name.endswith(".py"):
                yield each.path, each.stat()


def _remembered(place: Path | None, key: str) -> str:
    """The digest under ``key``, '' where there is none that can be believed."""
    if place is None:
        return ""
    try:
        with place.open(encoding="utf-8") as file:
            text = file.read() if not trust.distrust_file(place, os.fstat(file.fileno())) else ""
        known, found, seal = json.loads(text)
    except (OSError, ValueError):
        return ""
    return f"{found}" if known == key and seal == entries.seal(place.name, key, found) else ""


def _remember(place: Path | None, key: str, found: str) -> None:
    if place is None:
        return
    text = json.dumps([key, found, entries.seal(place.name, key, found)])
    try:
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o755)
        entries.replace(place, text.encode(), mode=0o644)
    except OSError:
        return  # worked out again by the next process; of a cache that cannot be written those tell who keep more


def _digest(root: Path, maker: str, beside: tuple[Path, ...]) -> str:
    files = {path: path.read_bytes() for name in PACKAGES for path in sorted((root / name).rglob("*.py"))}
    made_here = f"from {maker} import".encode()
    folders = {path.parent for path, text in files.items() if made_here in text}
    compiled_in = {path for path in files if path.parent in folders}
    named = {name.decode() for path in compiled_in for name in _CONSTANTS.findall(files[path])}
    makers = (text for path, text in files.items() if made_here in text)
    named |= {f"{package.decode()}.{name}" for text in makers for package, names in _MODULES.findall(text)
              for name in re.findall(r"\w+", names.decode())}  # fmt: skip
    compiled_in |= {root / f"{name.replace('.', '/')}.py" for name in named} | set(beside)
    found = hashlib.sha256()
    for path, text in files.items():
        if path in compiled_in:
            found.update(text)
    return found.hexdigest()
