"""The places of cores put into the parts of a layer's commands. Cores for which a part is the same share one object."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from archsim.ir.program import Affine, Clip, CommandGuard, Extent

Part = TypeVar("Part")


class _Split(NamedTuple):
    """An affine: its terms that are ``left`` in time, and (core's place number, coefficient) of those that are not."""

    affine: Affine
    left: tuple[tuple[str, int], ...]
    put_in: tuple[tuple[int, int], ...]


class Placing:
    """The loop variables ``vars`` that are spread over cores, and the ``places`` of each core along them.

    Each method takes the cores ``at`` which a part is wanted and returns a list with one of each.
    """

    def __init__(self, vars: Sequence[str], places: Sequence[Sequence[int]]) -> None:
        self.places = places
        self._numbers = {var: number for number, var in enumerate(vars)}
        self._split: dict[int, _Split] = {}
        self._affines: dict[tuple[int, int], Affine] = {}
        self._known: dict[tuple[int, tuple[int, ...]], tuple[object, object]] = {}

    def affines(self, affine: Affine, at: Sequence[int]) -> list[Affine]:
        """With the places of the cores put in."""
        split = self._split.get(id(affine))
        if split is None:
            split = self._split[id(affine)] = self._split_up(affine)
        if not split.put_in:
            return [affine] * len(at)
        return [self._affine(split, self.places[core]) for core in at]

    def _affine(self, split: _Split, place: Sequence[int]) -> Affine:
        affine, left, put_in = split
        const = affine.const
        for number, coefficient in put_in:
            const += coefficient * place[number]
        found = self._affines.get((id(affine), const))
        if found is None:
            found = self._affines[id(affine), const] = Affine(const, left)
        return found

    def extents(self, extents: tuple[Extent, ...], at: Sequence[int]) -> list[tuple[Extent, ...]]:
        """Clamped as on the cores."""
        limits = [limit for extent in extents for limit in extent.limits]
        return self._same(extents, limits, at, self._extent)

    def clips(self, clips: tuple[Clip, ...], at: Sequence[int]) -> list[tuple[Clip, ...]]:
        """Clipped as on the cores."""
        return self._same(clips, [clip.start for clip in clips], at, self._clip)

    def guards(self, guards: tuple[CommandGuard, ...], at: Sequence[int]) -> list[tuple[CommandGuard, ...]]:
        """What of the cores' windows lies inside their tensor."""
        return self._same(guards, [guard.start for guard in guards], at, self._guard)

    def _same(
        self, parts: tuple[Part, ...], affines: Sequence[Affine], at: Sequence[int], put: Callable[[Part, int], Part]
    ) -> list[tuple[Part, ...]]:
        """The parts of each core, whose constants follow from ``affines``; one object for equal constants."""
        if not affines:
            return [parts] * len(at)
        constants = zip(*[[made.const for made in self.affines(affine, at)] for affine in affines], strict=True)
        found: list[tuple[Part, ...]] = []
        for core, key in zip(at, constants, strict=True):
            known = self._known.get((id(parts), key))
            if known is None:
                known = self._known[id(parts), key] = parts, tuple([put(part, core) for part in parts])
            found.append(known[1])  # type: ignore[arg-type]
        return found

    def _extent(self, extent: Extent, core: int) -> Extent:
        if not extent.limits:
            return extent
        limits = tuple([self.affines(limit, (core,))[0] for limit in extent.limits])
        return Extent(extent.dim, extent.size, limits)

    def _clip(self, clip: Clip, core: int) -> Clip:
        return Clip(clip.dim, self.affines(clip.start, (core,))[0], clip.length)

    def _guard(self, guard: CommandGuard, core: int) -> CommandGuard:
        return CommandGuard(guard.terms, self.affines(guard.start, (core,))[0], guard.length)

    def _split_up(self, affine: Affine) -> _Split:
        left = tuple([term for term in affine.terms if term[0] not in self._numbers])
        put_in = tuple([(self._numbers[var], steps) for var, steps in affine.terms if var in self._numbers])
        return _Split(affine, left, put_in)
