"""What processes run on this machine, asked without tools that a small machine lacks (``ps``)."""

from __future__ import annotations

import os
from contextlib import suppress

import psutil


def children(parent: int, doing: str = "") -> list[int]:
    """Processes whose parent it is, whose command line has ``doing`` in it; none once the parent is gone."""
    found = []
    with suppress(psutil.NoSuchProcess):
        for child in psutil.Process(parent).children():
            with suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
                if doing in " ".join(child.cmdline()):
                    found.append(child.pid)
    return found


def ended(process: int) -> bool:
    """Whether there is no such process; one that nobody waits for counts as none."""
    try:
        return bool(psutil.Process(process).status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


def of_session(session: int) -> list[int]:
    """Processes of a session that still run, whatever group they are of."""
    found = []
    for process in psutil.pids():
        try:
            if os.getsid(process) == session and not ended(process):
                found.append(process)
        except (ProcessLookupError, PermissionError):
            continue
    return found
