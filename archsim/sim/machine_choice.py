"""Which machine a Program runs on. Both give the same Activity, so what each takes decides.

The compiled machine runs a command in a few microseconds, but its code has to be there: in the process already, on
disk, or nowhere, then it is compiled in some 8 s. A process that has run as many commands of small Programs as are
worth that compiles it too: it will run more of them.
"""

from __future__ import annotations

COMPILED_FROM = 20_000  # commands that are worth compiling it
KEPT_FROM = 2_000  # worth loading it from disk
LOADED_FROM = 500  # worth building its tables, where it is loaded


class MachineChoice:
    """What a process has run so far, and what it runs next."""

    def __init__(self) -> None:
        self._by_processes = 0
        self._is_loaded = False

    def is_compiled(self, commands: int) -> bool:
        """Whether a Program of so many commands, which is run now, is one for the compiled machine."""
        pays = commands >= COMPILED_FROM or commands >= LOADED_FROM and self._pays(commands)
        self._is_loaded |= pays
        self._by_processes += 0 if pays else commands
        return pays

    def _pays(self, commands: int) -> bool:
        if self._is_loaded or self._by_processes >= COMPILED_FROM:
            return True
        return commands >= KEPT_FROM and _is_kept()


def _is_kept() -> bool:
    """Whether the compiled machine is on disk."""
    from archsim.base.jit import is_found
    from archsim.sim.compiled.run import run

    return is_found(run)


OF_PROCESS = MachineChoice()
