"""A limit on the memory of a command, so that what cannot end is stopped by a message and not by the system.

The limit is on the data that this process has asked for (RLIMIT_DATA, Linux; elsewhere the system decides whether it
counts): beyond it every request fails, wherever it is made.
"""

from __future__ import annotations

import re
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from archsim.base import units
from archsim.base.errors import ConfigError, LimitError

SHARE = 0.8  # of what is free, that a command takes at most unless told otherwise
LEAST_BYTES = 256 << 20  # the interpreter with its libraries
_MEMINFO, _STATUS = Path("/proc/meminfo"), Path("/proc/self/status")
_GROUP = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current"))


@contextmanager
def limited(text: str | None, processes: int = 1) -> Iterator[None]:
    """Within this context the process holds no more data than ``text`` says (a size such as '4 GiB'; None: ``SHARE`` of
    what is free), ``processes`` of equal rights together. Raises ConfigError for what is no size, LimitError at the
    limit.
    """
    size = _asked(text) if text is not None else _usual()
    if size is None:
        yield
        return
    before, hard = resource.getrlimit(resource.RLIMIT_DATA)
    each = size // processes
    soft = each if hard == resource.RLIM_INFINITY else min(each, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
    try:
        yield
    except MemoryError as error:
        resource.setrlimit(resource.RLIMIT_DATA, (before, hard))
        how = f"{SHARE:.0%} of what was free" if text is None else "as stated"
        where = "".join(f" {note}" for note in getattr(error, "__notes__", ()))
        raise LimitError(
            f"stopped{where}: it needs more memory than --limit-memory, {units.binary(soft)} ({how}); allow more, or "
            "take a smaller model or batch"
        ) from error
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (before, hard))


def free_bytes() -> int | None:
    """Memory that the machine, or the group of processes that this one is in, can still give; None: not known."""
    found = _number(_MEMINFO, "MemAvailable")
    group = _group_bytes()
    known = [size for size in (found, group) if size is not None]
    return min(known) if known else None


def _usual() -> int | None:
    """What the process has already, and its share of what is free."""
    free, held = free_bytes(), _number(_STATUS, "VmData")
    return None if free is None or held is None else max(held + int(SHARE * free), LEAST_BYTES)


def _asked(text: str) -> int:
    try:
        size = int(units.parse(text, units.SIZE))
    except ConfigError as error:
        raise ConfigError(f"--limit-memory: {error}") from None
    if size < LEAST_BYTES or size > sys.maxsize:
        raise ConfigError(f"--limit-memory: found '{text}'; allowed {units.binary(LEAST_BYTES)} or more")
    return size


def _group_bytes() -> int | None:
    try:
        most, held = (path.read_text().strip() for path in _GROUP)
        return max(0, int(most) - int(held))
    except (OSError, ValueError):  # no such group, or no limit ('max')
        return None


def _number(path: Path, key: str) -> int | None:
    """``KEY: 123 kB`` of a file of the system, in bytes."""
    try:
        match = re.search(rf"^{key}:\s*(\d+) kB$", path.read_text(), re.MULTILINE)
    except OSError:
        return None
    return int(match[1]) << 10 if match else None
