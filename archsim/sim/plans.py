"""What engines work out of a command before they run it, kept for all commands that are alike, whatever core runs them.

A plan follows from a command's kind (its operation, the shapes of its operands and which memories they are in), its
extents, what clips leave of them, and where in the pattern of banks its operands begin. Layers of equal shapes have the
same plans. Cores that do the same in memories of their own have the same plan, but for whose memories these are: it is
made once and moved from core to core.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from archsim.ir.inside import counting_guards
from archsim.ir.program import Clip, Command, Region
from archsim.ir.unroll import Step
from archsim.sim.stores import OperandStores
from archsim.spec.network import core_of, part_of

OWN = "[]"  # behind the name of a memory: the engine's core's own copy of it

_Plan = TypeVar("_Plan")


class SharedPlans:
    """The plans of all engines of a chip that are built alike. ``kinds``: a number for each kind of command."""

    def __init__(self) -> None:
        self.kinds: dict[tuple[Any, ...], int] = {}
        self.plans: dict[tuple[int, ...], tuple[int | None, Any]] = {}  # and the core that has made it


class EnginePlans(Generic[_Plan]):
    """Plans of one engine, of ``core``. ``family``: what engines have in common whose plans are the same.

    ``make`` makes a plan of a command; ``move`` gives the same plan between the memories of another core.
    """

    def __init__(
        self,
        shared: SharedPlans,
        family: str,
        stores: OperandStores,
        core: int | None,
        make: Callable[[Step], _Plan],
        move: Callable[[_Plan, int | None], _Plan],
    ) -> None:
        self._shared = shared
        self._family = family
        self._stores = stores
        self._core = core
        self._make = make
        self._move = move
        self._own: dict[tuple[int, ...], _Plan] = {}

    def of(self, step: Step, places: tuple[int, ...]) -> _Plan:
        """The plan of ``step``; ``places``: where in the pattern of banks its operands begin."""
        kept = step.kept
        clips = kept.get("clips")
        if clips is None:
            clips = kept["clips"] = (*_clips(step.command), *guard_starts(step.command))
        key = (id(step.extents), step.fresh, *places)  # repetitions of equal extents share them
        if clips:
            key += tuple([bound for clip in clips for bound in _left(clip, step)])
        plan: _Plan | None = kept.get(key)
        if plan is None:
            plan = kept[key] = self._own_plan(step, key)
        return plan

    def _own_plan(self, step: Step, key: tuple[int, ...]) -> _Plan:
        kind = step.kept.get("kind")
        if kind is None:
            kind = step.kept["kind"] = self._kind(step)
        key = (kind, *step.extents.values(), *key[1:])
        plan = self._own.get(key)
        if plan is None:
            plan = self._own[key] = self._shared_plan(key, step)
        return plan

    def _shared_plan(self, key: tuple[int, ...], step: Step) -> _Plan:
        found = self._shared.plans.get(key)
        if found is None:
            found = self._shared.plans[key] = self._core, self._make(step)
        maker, plan = found
        return plan if maker == self._core else self._move(plan, maker)

    def _kind(self, step: Step) -> int:
        command = step.command
        what = (self._family, command.op, command.nest, command.dtypes, command.passes, command.slow)
        reads = tuple([self._operand(step, region) for region in command.reads])
        writes = tuple([self._operand(step, region) for region in command.writes])
        kinds = self._shared.kinds
        dims = tuple(step.extents)
        guards = tuple([(guard.terms, guard.length) for guard in counting_guards(command)])
        return kinds.setdefault((*what, command.combine, dims, guards, reads, writes), len(kinds))

    def _operand(self, step: Step, region: Region) -> tuple[Any, ...]:
        store = self._stores.store(step, region)
        memory = store.memory
        if self._core is not None and core_of(memory) == self._core:
            memory = part_of(memory) + OWN
        bounds = tuple([(clip.dim, clip.length) for clip in region.clips])
        return region.operand, memory, store.role, store.dtype, region.element_bytes, region.strides, bounds


def _clips(command: Command) -> tuple[Clip, ...]:
    return tuple([clip for region in (*command.reads, *command.writes) for clip in region.clips])


def guard_starts(command: Command) -> tuple[Clip, ...]:
    """Where the guards begin that its multiply-accumulates follow from, each as a clip of no extent and no length:
    what such a one leaves tells one start from another."""
    return tuple([Clip("", guard.start, 0) for guard in counting_guards(command)])


def _left(clip: Clip, step: Step) -> tuple[int, int]:
    """What a clip leaves of its extent: from, to."""
    start = clip.start.at(step.env)
    return max(0, -start), min(step.extents.get(clip.dim, 0), clip.length - start)
