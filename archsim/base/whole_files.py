"""A file is whole or it is not there: written beside its place under a name that nobody else has, then renamed.

What caches and outputs do alike. Whether the disk must have the bytes before the rename is the caller's to say: results
that a user asked for survive a power cut, an entry of a cache need not. Errors are those of the system.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

LONGEST_STEM = 200  # characters of a file's name that its temporary one repeats
SUFFIX = ".part"
READABLE = 0o666  # permissions, less what the user masks


def beside(path: Path) -> Path:
    """A new name in the same folder, under which a file is written before it takes its place."""
    return path.with_name(f".{path.name[:LONGEST_STEM]}.{os.urandom(8).hex()}{SUFFIX}")


@contextmanager
def replaced(targets: Sequence[Path]) -> Iterator[list[Path]]:
    """Places beside ``targets`` to write to: at the end they take their places one by one; if anything fails before,
    they go, and what was there stays. Raises OSError."""
    made = [beside(target) for target in targets]
    try:
        yield made
        for target, part in zip(targets, made, strict=True):
            os.replace(part, target)
    except BaseException:
        for part in made:
            with suppress(OSError):  # what failed is said, not that something is left of it
                part.unlink(missing_ok=True)
        raise


def put(path: Path, data: bytes, mode: int = READABLE, durable: bool = True) -> None:
    """Write a file that is not there yet; ``durable``: and wait until the disk has it. Raises OSError."""
    rest = memoryview(data)
    number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        while rest:
            rest = rest[os.write(number, rest) :]
        if durable:
            os.fsync(number)
    finally:
        os.close(number)
