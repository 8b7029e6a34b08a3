"""The host runtime: launches through a queue of limited depth, and layers that fall back to the host.

Launch j starts when the host has issued it, ``issue`` after the start of launch j - 1, and when fewer than ``depth``
launches are under way: start(j) = max(start(j-1) + issue, end(j-depth)). It takes ``launch``. A layer on the host
then has the link and the processor to itself: bytes / link rate + flops / rate. Launches end in order.

    n empty launches: depth 1: n x launch; launch / depth <= issue <= launch: launch + (n - 1) x issue.

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
    """Runs the ``host`` queue."""

    def __init__(self, tally: Tally, spec: Host) -> None:
        self.clock = ClockDomain(spec.clock_hz, spec.sync_stages)
        self._tally = tally
        self._spec = spec
        self._ends: deque[int] = deque(maxlen=spec.depth)  # of the launches under way or the last ones

    def launch(self, step: Step, start_ps: int) -> PipelinedCommand:
        """Start ``step``; raises ProgramError for a command that a host does not have."""
        command, spec = step.command, self._spec
        last_end_ps = self._ends[-1] if self._ends else 0
        if command.op == "SYNC":
            return PipelinedCommand(max(start_ps, last_end_ps), start_ps)
        if command.op not in ("HOST", "SETUP"):
            raise ProgramError(f"{step.where}: the host cannot run {command.op}; it runs HOST, SETUP and SYNC")
        launched_ps = max(start_ps + spec.launch_ps, last_end_ps)
        end_ps = self.clock.at_or_after(launched_ps + spec.work_ps(command.flops, command.nbytes))
        self._ends.append(end_ps)
        self._count(step)
        free_ps = start_ps + spec.issue_ps
        if len(self._ends) == spec.depth:
            free_ps = max(free_ps, self._ends[0])
        return PipelinedCommand(end_ps, self.clock.at_or_after(free_ps))

    def _count(self, step: Step) -> None:
        command, name = step.command, self._spec.name
        for action, amount in (("launches", 1), ("flops", command.flops), ("link_bytes", command.nbytes)):
            self._tally.add(command.layer, name, action, amount)
