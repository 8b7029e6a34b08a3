"""Saying so when a kernel has to be compiled."""

from __future__ import annotations

import sys
from collections.abc import Callable

from archsim.caches import folder

MACHINE = "serve.advance"  # the kernel of DRAM in a run, file and function
TRACE = "replay.replay"  # the kernel of DRAM fed by a trace
NETWORK = {"flit": "run._advance", "link": "reserve.advance"}  # the kernels of a network, by its fidelity


def announce(kernel: str, say: Callable[[str], None]) -> None:
    """Say once, on stderr where ``say`` shows nothing, that ``kernel`` has to be compiled before it runs."""
    if _is_compiled(kernel):
        return
    told = "compiling kernels (kept in the cache for later runs)"
    if sys.stderr.isatty():
        say(told)
    else:
        print(told, file=sys.stderr, flush=True)


def _is_compiled(kernel: str) -> bool:
    """Whether this version of a kernel is in the cache."""
    from archsim import kernels

    return folder() is not None and kernels.PLACE is not None and any(kernels.PLACE.rglob(f"{kernel}-*.nbi"))
