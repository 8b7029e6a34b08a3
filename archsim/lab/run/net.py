"""The net under the ranking: what every objective finds is simulated, and the best by the objective asked for is kept.

Mappings are ranked by forecasts. So where they are searched, the network is simulated with those of each objective, and
another objective's are taken where they are better by more than ``BAND``. Where layers may run in groups, the network
without any is one more. By latency, a network that takes longer than
its layers one by one, each as a network of one layer, is also run so: layer after layer, with fences between all. What
was kept is remembered with the figures that it was kept by, so that a later run of the same network tries nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from archsim.ir.activity import to_cycles
from archsim.ir.result import Result
from archsim.ir.result_parts import IN_TURN, LAYERS, PLATFORM, Net, Tried
from archsim.lab.kit.gc_pause import collect_stopped, uncollected
from archsim.lab.run.decisions import Decisions
from archsim.lab.run.fidelity import affordable
from archsim.lab.run.job import (
    BlocksApartError,
    BuiltJob,
    CompileRequest,
    Job,
    Progress,
    compiled,
    load_chip,
    prepare,
    quiet,
)
from archsim.lab.run.simulation import simulated
from archsim.sim.critical import HOST, critical_cycles, critical_path
from archsim.spec.architecture import Architecture

Figures = tuple[float, float]


@dataclass(frozen=True)
class Caught:
    """The best of what was tried: what it is, and its Result where that was simulated here as the job asks."""

    kept: str
    built: BuiltJob
    net: Net
    result: Result | None = None


def caught(job: Job, say: Progress = quiet) -> Caught:
    """The best network of a job whose mappings are searched; raises as ``build`` and ``simulated``."""
    architecture = load_chip(job)
    asked = prepare(job, architecture, say)
    decisions = Decisions(job, architecture, asked, __name__)
    known = decisions.read()
    if known is not None:
        return Caught(known["kept"], compiled(job, architecture, asked.by(known["kept"])), known)
    found = _Trial(replace(job, warm=None), architecture, asked, say).best()
    decisions.write(found.net)
    return replace(found, result=None) if job.warm is not None else found


def trial(job: Job, say: Progress = quiet) -> tuple[Mapping[str, Tried], int]:
    """Cycles and energy of a job's network by objective, and the cycles of its layers one by one; nothing is kept."""
    architecture = load_chip(job)
    found = _Trial(replace(job, warm=None), architecture, prepare(job, architecture, say), say).best()
    return found.net["tried"], found.net["alone_cycles"]


def settled(job: Job, say: Progress = quiet) -> Job:
    """The same job where it is known whose mappings are taken."""
    return replace(job, net=False, kept=caught(job, say).kept) if job.has_net else job


def figures(objective: str, result: Result) -> Figures:
    """What the objective makes of a result, the least first."""
    if objective == "energy":
        return result.energy_j, result.cycles_total
    if objective == "edp":
        return result.edp_js, result.cycles_total
    return result.cycles_total, result.energy_j


class _Trial:
    """Simulates a network with the mappings of one objective after the other."""

    def __init__(self, job: Job, architecture: Architecture, asked: CompileRequest, say: Progress) -> None:
        self.job, self.architecture, self.asked, self.say = job, architecture, asked, say
        self.tried: dict[str, Tried] = {}
        self._best: tuple[str, BuiltJob, Result] | None = None
        self._known: list[tuple[object, Tried]] = []

    def best(self) -> Caught:
        """The best of all; that of the job's own objective unless another is better by more than ``BAND``, or the
        platform's schedule at all."""
        from mapper.options import OBJECTIVES

        own = self.job.objective
        for name in (own, *(other for other in OBJECTIVES if other != own)):
            self._try(name)
        if self.asked.options.schedule != LAYERS:
            self._try(LAYERS)
            if self._has_policy:
                self._try(PLATFORM)
        alone = alone_cycles(self.job, self.architecture, self.asked, self.say)
        if own == "latency" and self._is_worse(self._kept[2].cycles_total, alone):
            self._try(IN_TURN)
        kept, built, result = self._kept
        net: Net = {"tried": self.tried, "alone_cycles": alone, "kept": kept}
        return Caught(kept, built, net, result)

    @property
    def _has_policy(self) -> bool:
        """Whether the platform of the chip has a schedule policy."""
        return bool(self.asked.policy)

    @property
    def _kept(self) -> tuple[str, BuiltJob, Result]:
        assert self._best is not None
        return self._best

    def _try(self, name: str) -> None:
        """Simulate what an objective chose, unless it is what was tried already, or blocks of layers that another one
        chose cannot be repeated as the job asks."""
        try:
            built = compiled(self.job, self.architecture, self.asked.by(name))
        except BlocksApartError:
            if self._best is None:
                raise
            return
        assert built.mapping is not None
        shown = [(layer.unit, layer.nodes, layer.resident) for layer in built.mapping.layers]
        mapping = built.mapping
        kernels = mapping.schedule if len(shown) > 1 else ""  # one layer is one kernel by any policy
        content = shown, mapping.placements, mapping.fences, mapping.groups, kernels
        same = next((tried for known, tried in self._known if known == content), None)
        if same is not None:
            self.tried[name] = same
            return
        result = simulated(self.job, built, self.say)
        self.tried[name] = {"cycles": result.cycles_total, "energy_j": result.energy_j}
        self._known.append((content, self.tried[name]))
        objective, is_slack = self.job.objective, name != PLATFORM
        if self._best is None or self._is_worse(
            figures(objective, self._kept[2])[0], figures(objective, result)[0], is_slack=is_slack
        ):
            self._best = name, built, result

    @staticmethod
    def _is_worse(figure: float, other: float, *, is_slack: bool = True) -> bool:
        from mapper.search.ties import BAND

        return figure > other * (1 + BAND if is_slack else 1)


def alone_cycles(job: Job, architecture: Architecture, asked: CompileRequest, say: Progress = quiet) -> int:
    """Cycles of all layers one after the other, each as a network of one layer, with one launch; of kernels also what
    lies between them."""
    launch, total = 0, 0
    for cycles, host in _of_layers(job, architecture, asked, say):
        total, launch = total + cycles, max(launch, host)
    return total + launch + _floors(architecture, asked)


def _floors(architecture: Architecture, asked: CompileRequest) -> int:
    """Cycles from the ends of kernels to the next ones' beginnings at least, where each layer is one."""
    host = architecture.host
    if host is None or host.per != "kernel":
        return 0
    behind = [layer.op for layer in asked.workload.layers if layer.kind != "host"][1:]
    return to_cycles(sum(host.time_ps("floor", operator) for operator in behind), architecture.clock_hz)


def _of_layers(job: Job, architecture: Architecture, asked: CompileRequest, say: Progress) -> Iterator[tuple[int, int]]:
    """Of each layer, as a network of its own, the cycles of the critical path: its own, and the host's. Equal layers
    are simulated once."""
    from mapper.lower.one_layer import nameless, single

    known: dict[str, tuple[int, int]] = {}
    for layer in asked.workload.layers:
        network = single(asked.workload, layer)
        key = nameless(network)
        if key not in known:
            say(f"simulating {layer.name} by itself")
            known[key] = _alone(job, architecture, replace(asked, workload=network))
        yield known[key]


def _alone(job: Job, architecture: Architecture, asked: CompileRequest) -> tuple[int, int]:
    from archsim.system import simulate

    program = compiled(job, architecture, asked.by(LAYERS)).program
    machine = architecture if job.fidelity is not None else affordable(architecture, program)[0]
    collect_stopped()
    with uncollected():
        activity = simulate(program, machine)
        spent = critical_cycles(critical_path(activity), architecture.clock_hz)
    host = sum(spent.get(HOST, {}).values())
    return to_cycles(activity.total_ps, architecture.clock_hz) - host, host
