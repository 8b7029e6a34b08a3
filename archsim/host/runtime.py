"""The host runtime: launches through a queue of limited depth, and layers that fall back to the host.

A launch is issued at the earliest ``issue`` after the one before it, with fewer than ``depth`` under way, and takes
``launch``: start(j) = max(start(j-1) + issue, end(j-depth)). Launches end in order. A layer on the host then has the
link and the processor to itself: bytes / link rate + flops / rate.

Of a Program that is launched as one, a launch begins when the host comes to it, and ends when it has been done.

    n empty launches: depth 1: n x launch; launch / depth <= issue <= launch: launch + (n - 1) x issue.

Of kernels, a launch waits for the end of the kernel before it, yet has been issued while that ran: kernel j begins at
max(start(j) + launch, end(j-1) + floor), also when a Program runs again and again.

    n kernels of work w, no limit of depth: launch + (n - 1) x max(issue, floor + w) + w.

Event-level: the host's own cycles are not modelled; starts and ends are edges of its clock.
"""

from __future__ import annotations

from collections import deque

from archsim.base.errors import ProgramError
from archsim.ir.unroll import Step
from archsim.sim.clock import ClockDomain
from archsim.sim.protocols import PipelinedCommand
from archsim.sim.tally import Tally
from archsim.spec.architecture import Host


class HostRuntime:
    """Runs the ``host`` queue, of one Program after the other."""

    def __init__(self, tally: Tally, spec: Host) -> None:
        self.clock = ClockDomain(spec.clock_hz, spec.sync_stages)
        self._tally = tally
        self._spec = spec
        self._ends: deque[int] = deque(maxlen=spec.depth)  # of the launches under way or the last ones
        self._issued_ps: int | None = None  # when the last kernel was

    def launch(self, step: Step, start_ps: int) -> PipelinedCommand:
        """Start ``step``; raises ProgramError for a command that a host does not have."""
        command, spec = step.command, self._spec
        last_end_ps = self._ends[-1] if self._ends else 0
        if command.op == "SYNC":
            return PipelinedCommand(max(start_ps, last_end_ps), start_ps)
        if command.op not in ("HOST", "SETUP"):
            raise ProgramError(f"{step.where}: the host cannot run {command.op}; it runs HOST, SETUP and SYNC")
        self._count(step)
        if spec.per == "kernel" and not (command.flops or command.nbytes):
            return self._kernel(start_ps, command.function)
        launched_ps = max(start_ps + spec.launch_ps, last_end_ps)
        end_ps = self.clock.at_or_after(launched_ps + spec.work_ps(command.flops, command.nbytes))
        self._ends.append(end_ps)
        free_ps = start_ps + spec.issue_ps
        if len(self._ends) == spec.depth:
            free_ps = max(free_ps, self._ends[0])
        return PipelinedCommand(end_ps, self.clock.at_or_after(free_ps))

    def _kernel(self, ended_ps: int, operator: str) -> PipelinedCommand:
        """Launch a kernel that does ``operator``; the one before it, if there is one, has ``ended_ps``."""
        spec, begins_ps, issued_ps = self._spec, ended_ps, 0
        if self._issued_ps is not None:
            self._ends.append(ended_ps)
            issued_ps = self._issued_ps + spec.time_ps("issue", operator)
            begins_ps += spec.time_ps("floor", operator)
        if len(self._ends) == spec.depth:
            issued_ps = max(issued_ps, self._ends[0])
        self._issued_ps = issued_ps
        begins_ps = self.clock.at_or_after(max(begins_ps, issued_ps + spec.time_ps("launch", operator)))
        return PipelinedCommand(begins_ps, begins_ps)

    def entry(self, at_ps: int) -> bytes:
        """What the next kernel's launch depends on, relative to ``at_ps``; nothing where Programs are launched."""
        if self._issued_ps is None:
            return b""
        return repr([self._issued_ps - at_ps, *(end_ps - at_ps for end_ps in self._ends)]).encode()

    def _count(self, step: Step) -> None:
        command, name = step.command, self._spec.name
        for action, amount in (("launches", 1), ("flops", command.flops), ("link_bytes", command.nbytes)):
            self._tally.add(command.layer, name, action, amount)
