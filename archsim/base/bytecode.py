"""Bytecode of the product's files in the user's cache, for processes in which Python keeps none beside the sources.

Python compiles each file that it imports, 400 for a run, and keeps the bytecode in folders beside them, unless it is
told to leave these alone (``PYTHONDONTWRITEBYTECODE``). Then one file in the cache holds what the processes of a tree
have compiled, an entry a module. An entry is used for the very file that it was compiled from, by size and times, and
where its checksum is right; as it is code that runs, only from a folder where nobody else can write.
"""

from __future__ import annotations

import atexit
import marshal
import os
import sys
import zlib
from collections.abc import Callable
from contextlib import suppress
from importlib.machinery import SOURCE_SUFFIXES, FileFinder, SourceFileLoader
from importlib.util import MAGIC_NUMBER
from io import BytesIO
from pathlib import Path
from types import CodeType
from typing import BinaryIO, NamedTuple

from archsim.base import caches, trust, whole_files

ROOT = Path(__file__).parents[2]
OURS = ("archsim", "mapper")
_LENGTH_BYTES = 8


class KeptCode(NamedTuple):
    """Of which file (``stamp``: times in ns and size), the checksum of its bytecode, and where that lies."""

    stamp: tuple[int, ...]
    checksum: int
    start: int
    stop: int


class BytecodeStore:
    """The bytecode of modules by name, in one file.

    Its index, after magic, length and checksum: the tree, and a tuple as KeptCode for each module. All bytecode
    follows, in the order of the index.
    """

    def __init__(self, path: Path, tree: str) -> None:
        self.path, self.tree = path, tree
        self.kept, self._file = _read(path, tree)
        self.new: dict[str, tuple[tuple[int, ...], bytes]] = {}

    def find(self, name: str, stamp: tuple[int, ...]) -> CodeType | None:
        """The bytecode of a module, None where there is none of this file."""
        entry = self.kept.get(name)
        if entry is None or entry.stamp != stamp:
            return None
        text = _part(self._file, entry)
        code = marshal.loads(text) if zlib.crc32(text) == entry.checksum else None
        return code if isinstance(code, CodeType) else None

    def keep(self, name: str, stamp: tuple[int, ...], code: CodeType) -> None:
        """Remember bytecode that was compiled in this process."""
        self.new[name] = stamp, marshal.dumps(code)

    def write(self) -> None:
        """Put what is new into the file, which is replaced; of two processes that do so at once the last one stays."""
        if not self.new or caches.folder() is None:  # as the command has turned out, with --no-cache
            return
        kept, file = _read(self.path, self.tree)
        read = {name: (entry.stamp, _part(file, entry)) for name, entry in kept.items()}
        held = {name: of for name, of in read.items() if zlib.crc32(of[1]) == kept[name].checksum} | self.new
        with suppress(OSError):  # a cache that cannot be written costs the cache
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o755)
            with whole_files.replaced([self.path]) as (beside,):
                whole_files.put(beside, _text(self.tree, held), 0o644, durable=False)


def _text(tree: str, held: dict[str, tuple[tuple[int, ...], bytes]]) -> bytes:
    index: dict[str, tuple[tuple[int, ...], int, int, int]] = {}
    at = 0
    for name, (stamp, text) in held.items():
        index[name] = stamp, zlib.crc32(text), at, at + len(text)
        at += len(text)
    found = marshal.dumps((tree, index))
    head = MAGIC_NUMBER + len(found).to_bytes(_LENGTH_BYTES, "little") + zlib.crc32(found).to_bytes(4, "little")
    return b"".join([head, found, *(text for _, text in held.values())])


def _read(path: Path, tree: str) -> tuple[dict[str, KeptCode], BinaryIO]:
    """Index of a file, with places in it, and the file, of which parts are read when they are asked for; nothing where
    there is none, where it is damaged, or of another tree or Python."""
    nothing: tuple[dict[str, KeptCode], BinaryIO] = {}, BytesIO()
    try:
        file = path.open("rb")
        state = os.fstat(file.fileno())
        if trust.distrust_file(path, state):
            return nothing
        head = file.read(len(MAGIC_NUMBER) + _LENGTH_BYTES + 4)
        index = file.read(min(int.from_bytes(head[len(MAGIC_NUMBER) : -4], "little"), state.st_size))
    except OSError:
        return nothing
    checksum = int.from_bytes(head[-4:], "little")
    if not index or head[: len(MAGIC_NUMBER)] != MAGIC_NUMBER or zlib.crc32(index) != checksum:
        return nothing
    of, entries = marshal.loads(index)
    if of != tree:
        return nothing
    start = len(head) + len(index)
    return {
        name: KeptCode(stamp, its_checksum, start + first, start + end)
        for name, (stamp, its_checksum, first, end) in entries.items()
    }, file


def _part(file: BinaryIO, entry: KeptCode) -> bytes:
    """The bytecode of a module as it lies in the file, b'' where that cannot be read."""
    try:
        file.seek(entry.start)
        return file.read(entry.stop - entry.start)
    except OSError:
        return b""


class KeptLoader(SourceFileLoader):
    """Loads a module from its bytecode in the store, else compiles it for the store."""

    store: BytecodeStore

    def get_code(self, fullname: str) -> CodeType:
        """The bytecode of the module's file as it is now."""
        path = self.get_filename(fullname)
        found = os.stat(path)
        stamp = found.st_mtime_ns, found.st_ctime_ns, found.st_size
        code = self.store.find(fullname, stamp)
        if code is None:
            code = self.source_to_code(self.get_data(path), path)
            self.store.keep(fullname, stamp, code)
        return code


def _finder(store: BytecodeStore) -> Callable[[str], FileFinder]:
    """What Python asks for modules in a folder: an answer for those of ours alone."""
    folders = tuple(f"{ROOT / name}" for name in OURS)
    loader = type("KeptLoader", (KeptLoader,), {"store": store})

    def hook(path: str) -> FileFinder:
        if path not in folders and not path.startswith(tuple(f"{folder}{os.sep}" for folder in folders)):
            raise ImportError(path)
        return FileFinder(path, (loader, SOURCE_SUFFIXES))

    return hook


def keep() -> None:
    """From now on, modules of the tree come from the cache where Python keeps no bytecode of its own."""
    folder = caches.folder()
    if folder is None or not sys.dont_write_bytecode:
        return
    folder = Path(os.path.realpath(folder)) / "bytecode"
    if _loose(folder):
        return
    tree = f"{ROOT}"
    python = f"{sys.implementation.cache_tag}-{sys.flags.optimize}"  # -O leaves asserts out, -OO docstrings too
    store = BytecodeStore(folder / f"{python}-{zlib.crc32(tree.encode()):08x}", tree)
    sys.path_hooks.insert(0, _finder(store))
    for path in [path for path in sys.path_importer_cache if path.startswith(tuple(f"{ROOT / name}" for name in OURS))]:
        del sys.path_importer_cache[path]
    atexit.register(store.write)


def _loose(folder: Path) -> str:
    """Why others may write where the store lies or will lie; '' if nobody can."""
    try:
        there = next(path for path in (folder, *folder.parents) if path.exists())
        return trust.distrust(there, sticky=there != folder)
    except OSError as error:
        return str(error)
