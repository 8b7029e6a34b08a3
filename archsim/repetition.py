"""The same Program again and again on one machine: the steady interval from one end to the next.

A run of the Program begins when the one before has ended: the machine is quiet in between, but its DRAM keeps its open
rows and the phase of its refreshes, and its caches keep their lines.

``exact`` simulates every run. ``steady`` lets refresh begin anew with each run, and simulates a run only when the
machine enters it in a state in which none has begun; from an equal state it takes as long as before. Without refresh
the two are equal. With it no two runs are, and steady is an approximation, whose difference is measured on the second
run.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

from archsim.base.errors import ConfigError
from archsim.base.progress import stretch
from archsim.base.units import PS_PER_S
from archsim.ir.columns import ProgramColumns
from archsim.ir.program import Program
from archsim.ir.result_parts import RepeatFacts
from archsim.sim.given_up import GivenUpError
from archsim.sim.machine_choice import OF_PROCESS
from archsim.spec.architecture import Architecture
from archsim.system import Machine

MODES = ("exact", "steady")
CHOICES = ("auto", *MODES)  # of a run, which is repeated exactly where nothing is said


@dataclass(frozen=True, slots=True)
class Repetition:
    """``interval_ps`` = T(runs) - T(runs - 1). ``simulated``: runs that were.

    ``difference``: of the steady second run from the exact one, as a fraction; None for exact.
    """

    mode: str
    runs: int
    interval_ps: int
    simulated: int
    difference: float | None

    @property
    def provenance(self) -> RepeatFacts:
        """What a result says of it."""
        found: RepeatFacts = {
            "mode": self.mode,
            "warm": self.runs - 1,
            "interval_s": self.interval_ps / PS_PER_S,
            "simulated": self.simulated,
        }
        if self.difference is not None:
            found["difference"] = self.difference
        return found


def check_choice(mode: str, choices: tuple[str, ...] = CHOICES) -> None:
    """Raise ConfigError for a way of repeating that there is not."""
    if mode not in choices:
        raise ConfigError(f"repeat: found '{mode}'; allowed {', '.join(choices)}")


def repeat(program: Program, architecture: Architecture, runs: int, mode: str = "exact") -> Repetition:
    """Run ``program`` ``runs`` times (two or more), of which the last is measured; raises ConfigError for fewer, and
    what simulate() raises."""
    if runs < 2:
        raise ConfigError(f"warm: found {runs - 1}; allowed 1 or more runs before the one that is measured")
    check_choice(mode, MODES)
    course = _simulated(program, architecture, runs, steady=mode == "steady")
    interval_ps = course.interval_ps(runs)
    if mode == "exact":
        return Repetition(mode, runs, interval_ps, runs, None)
    exact = _simulated(program, architecture, 2, steady=False)
    second = exact.interval_ps(2)
    difference = course.interval_ps(2) / second - 1 if second else 0.0
    return Repetition(mode, runs, interval_ps, len(course.taken), difference)


def _simulated(program: Program, architecture: Architecture, runs: int, *, steady: bool) -> _Course:
    """So many runs, or as many of them as differ, by the compiled machine where it can and one of them pays for it."""
    columns = ProgramColumns(program)
    if OF_PROCESS.is_compiled(int(columns.runs.sum())):
        try:
            return _run(Machine(program, architecture, trace=False, compiled=True, columns=columns), runs, steady)
        except GivenUpError:
            pass  # the machine of processes runs it, or says what is wrong
    return _run(Machine(program, architecture, trace=False), runs, steady)


def _run(machine: Machine, runs: int, steady: bool) -> _Course:
    course = _Course(runs, steady)
    with stretch("simulating", "runs", runs, done=lambda: len(course.starts) - 1, at_most=steady):
        machine.repeat(course.begins)
    return course


@dataclass
class _Course:
    """The states in which runs began, and how long they took."""

    runs: int
    steady: bool
    states: list[bytes] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)

    def begins(self, now_ps: int, machine: Machine) -> bool:
        """Note that a run begins; False when no further one has to be simulated."""
        if len(self.starts) == self.runs:
            self.starts.append(now_ps)
            return False
        state = hashlib.sha256(machine.entry(now_ps, align=self.steady)).digest() if self.steady else b""
        known = self.steady and state in self.states
        self.states.append(state)
        self.starts.append(now_ps)
        return not known

    @property
    def taken(self) -> list[int]:
        """How long each simulated run took."""
        return [end - start for start, end in zip(self.starts, self.starts[1:], strict=False)]

    def interval_ps(self, run: int) -> int:
        """How long run number ``run`` took, from 1; beyond those simulated the states go round."""
        taken = self.taken
        if run <= len(taken):
            return taken[run - 1]
        first = self.states.index(self.states[-1])
        return taken[first + (run - 1 - first) % (len(taken) - first)]
