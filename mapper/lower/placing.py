"""A core's places put into the parts of a layer's commands. Cores for which a part is the same share one object."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar

from archsim.ir.program import Affine, Clip, CommandGuard, Extent

Part = TypeVar("Part")


class _Split(NamedTuple):
    """An affine: its terms that are ``left`` in time, and (core's place number, coefficient) of those that are not."""

    affine: Affine
    left: tuple[tuple[str, int], ...]
    put_in: tuple[tuple[int, int], ...]


class Placing:
    """The loop variables ``vars`` that are spread over cores, and the ``places`` of each core along them."""

    def __init__(self, vars: Sequence[str], places: Sequence[Sequence[int]]) -> None:
        self.places = places
        self._numbers = {var: number for number, var in enumerate(vars)}
        self._split: dict[int, _Split] = {}
        self._affines: dict[tuple[int, int], Affine] = {}
        self._known: dict[tuple[int, tuple[int, ...]], tuple[object, object]] = {}

    def affine(self, affine: Affine, core: int) -> Affine:
        """With the places of a core put in."""
        if not affine.terms:
            return affine
        split = self._split.get(id(affine))
        if split is None:
            split = self._split[id(affine)] = self._split_up(affine)
        if not split.put_in:
            return affine
        place, const = self.places[core], affine.const
        for number, coefficient in split.put_in:
            const += coefficient * place[number]
        found = self._affines.get((id(affine), const))
        if found is None:
            found = self._affines[id(affine), const] = Affine(const, split.left)
        return found

    def extents(self, extents: tuple[Extent, ...], core: int) -> tuple[Extent, ...]:
        """Clamped as on a core."""
        limits = [limit for extent in extents for limit in extent.limits]
        return self._same(extents, limits, core, self._extent) if limits else extents

    def clips(self, clips: tuple[Clip, ...], core: int) -> tuple[Clip, ...]:
        """Clipped as on a core."""
        return self._same(clips, [clip.start for clip in clips], core, self._clip)

    def guards(self, guards: tuple[CommandGuard, ...], core: int) -> tuple[CommandGuard, ...]:
        """What of a core's window lies inside its tensor."""
        return self._same(guards, [guard.start for guard in guards], core, self._guard)

    def _same(
        self, parts: tuple[Part, ...], affines: Sequence[Affine], core: int, put: Callable[[Part, int], Part]
    ) -> tuple[Part, ...]:
        """The parts of a core, whose constants follow from ``affines``; one object for equal constants."""
        key = (id(parts), tuple([self.affine(affine, core).const for affine in affines]))
        if key not in self._known:
            self._known[key] = parts, tuple([put(part, core) for part in parts])
        found: tuple[Part, ...] = self._known[key][1]  # type: ignore[assignment]
        return found

    def _extent(self, extent: Extent, core: int) -> Extent:
        if not extent.limits:
            return extent
        return Extent(extent.dim, extent.size, tuple([self.affine(limit, core) for limit in extent.limits]))

    def _clip(self, clip: Clip, core: int) -> Clip:
        return Clip(clip.dim, self.affine(clip.start, core), clip.length)

    def _guard(self, guard: CommandGuard, core: int) -> CommandGuard:
        return replace(guard, start=self.affine(guard.start, core))

    def _split_up(self, affine: Affine) -> _Split:
        left = tuple([term for term in affine.terms if term[0] not in self._numbers])
        put_in = tuple([(self._numbers[var], steps) for var, steps in affine.terms if var in self._numbers])
        return _Split(affine, left, put_in)
