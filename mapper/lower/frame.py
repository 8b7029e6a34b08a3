"""The frame of one layer's lowering: its loops, the depth of every Keep, and affine tile starts and extents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product

from archsim.ir.mapping import Keep, LayerMapping, Loop
from archsim.ir.program import Affine, Clip, CommandGuard, Extent, LoopEdge, Region, When
from archsim.ir.workload import Bound
from archsim.ir.workload import Guard as LayerGuard
from mapper.cost.chip_rates import Outer
from mapper.problem.bounded import Trims, trims
from mapper.problem.geometry import Component, components, slot_padding, slot_sizes
from mapper.problem.operands import OperandPlan
from mapper.problem.problem import Problem
from mapper.problem.strides import Padding, row_major


@dataclass(frozen=True, slots=True)
class Stored:
    """Where an operand's tensor lies: store name, byte offset of element 0, byte strides and length of each axis.

    ``within``: loops with which the place itself moves on, those over the passes of a group whose window it is."""

    store: str
    offset: int
    strides: tuple[int, ...]
    shape: tuple[int, ...]
    within: int = 0


@dataclass(frozen=True)
class Frame:
    """One layer mapped: ``stored`` places of its tensors by operand name; ring names are ``layer@operand``.

    ``channels`` of the DMA; ``number``: the layer's, by which stores take turns; ``way``: the collective by which cores
    add up partial sums of the same outputs, '' where no reduction is spread; ``outer``: the DRAMs that are known.
    """

    problem: Problem
    mapping: LayerMapping
    stored: Mapping[str, Stored]
    channels: int = 1
    number: int = 0
    way: str = ""
    outer: Mapping[str, Outer] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The layer's name."""
        return self.problem.layer.name

    @property
    def dims(self) -> Mapping[str, int]:
        """Extents of what the loops run over: the layer, or one core's part of it where none is spread over cores."""
        return self.problem.layer.dims if self.spread else self.problem.dims

    @cached_property
    def spread(self) -> int:
        """Outermost loops that are spread over cores, each of which has one of their iterations."""
        return sum(bool(loop.axis) for loop in self.loops)

    def reach(self, dim: str) -> int:
        """What one core has of a dim at most."""
        return next((loop.tile for loop in self.loops[: self.spread] if loop.dim == dim), self.dims[dim])

    @cached_property
    def loops(self) -> tuple[Loop, ...]:
        """All loops, outermost first."""
        return tuple(node for node in self.mapping.nodes if isinstance(node, Loop))

    @cached_property
    def keeps(self) -> dict[str, tuple[int, bool]]:
        """Plan -> (number of loops above its reservation, whether its window slides over the last of them)."""
        found = dict[str, tuple[int, bool]]()
        for index, node in enumerate(self.mapping.nodes):
            if isinstance(node, Keep) and (plan := self.problem.kept(node.operand, node.level)) is not None:
                above = sum(isinstance(other, Loop) for other in self.mapping.nodes[: node.reserve_at])
                slides = node.reserve_at != index
                found |= {each.name: (above, slides) for each in self.problem.kept_with(plan)}
        return found

    @cached_property
    def trims(self) -> Trims:
        """What the layer's bounds leave out of its tiles."""
        spread = self.problem.spread
        return trims(self.problem.layer, [dim for dim, _ in spread.loops] if spread is not None else ())

    def trims_of(self, plan: OperandPlan) -> Trims:
        """The same of an operand's tiles. Cores that have other parts of a dim may share a tile that it does not move:
        then it is as if each had all of them."""
        if not self.trims:
            return ()
        apart = frozenset(loop.dim for loop in self.loops[: self.spread]) - plan.dims
        own = [trim for trim in self.trims if trim.dim in plan.dims]
        tied = {dim for trim in own for dim in (trim.dim, *trim.others)}
        bound = [part for part in self.parts[plan.name] if any(dim in tied for dim, _ in part.terms)]
        if any(len(part.terms) > 1 or part.terms[0][1] != 1 or part.clip is not None for part in bound):
            return ()
        return tuple([trim.whole(apart, self.problem.layer.dims) for trim in own])

    @cached_property
    def parts(self) -> dict[str, tuple[Component, ...]]:
        """Components of every operand."""
        return {plan.name: components(plan.axes, plan.shape, self.problem.layer.dims) for plan in self.problem.operands}

    @cached_property
    def _tiles(self) -> dict[int, Mapping[str, int]]:
        """What is known of ``tiles``."""
        return {}

    @cached_property
    def _edges(self) -> dict[tuple[str, int, int], When]:
        """What is known of ``edges``."""
        return {}

    @cached_property
    def _slot_strides(self) -> dict[str, tuple[int, ...]]:
        """What is known of ``slot_strides``."""
        return {}

    @cached_property
    def vars(self) -> tuple[str, ...]:
        """Variable of every loop: ``layer.dim``, ``layer.dim.1`` for the strips in which its tiles run, and so on."""
        dims = [loop.dim for loop in self.loops]
        within = [dims[at + 1 :].count(dim) for at, dim in enumerate(dims)]
        plain = [f"{self.name}.{dim}{f'.{n}' if n else ''}" for dim, n in zip(dims, within, strict=True)]
        return tuple([*(f"{self.name}.{dim}@" for dim in dims[: self.spread]), *plain[self.spread :]])

    def trips(self, index: int) -> int:
        """Trips of a loop: ceil(what the loop over its dim further out leaves / its tile)."""
        loop = self.loops[index]
        return -(-self.tiles(index)[loop.dim] // loop.tile)

    def strip(self, dim: str, depth: int) -> int:
        """The innermost strip of ``dim`` in which its last loop above ``depth`` runs; 0: it runs over all of it."""
        sizes = [loop.tile for loop in self.loops[self.spread : depth] if loop.dim == dim]
        return sizes[-2] if len(sizes) > 1 else 0

    def ring(self, operand: str) -> str:
        """Ring name of an operand (tensors have no @, so names cannot meet)."""
        return ring_name(self.name, operand)

    def tiles(self, depth: int) -> Mapping[str, int]:
        """Tile size of every dim below ``depth`` loops."""
        if depth not in self._tiles:
            self._tiles[depth] = {**self.dims, **self.cut(depth)}
        return self._tiles[depth]

    def cut(self, depth: int) -> dict[str, int]:
        """Tile sizes of the dims that have a loop above ``depth``."""
        return {loop.dim: loop.tile for loop in self.loops[:depth]}

    def starts(self, steps: Mapping[str, int], high: int, low: int = 0) -> tuple[tuple[str, int], ...]:
        """(variable, steps) by which the loops between two depths move on; ``steps`` of one index of each dim."""
        loops = zip(self.vars[low:high], self.loops[low:high], strict=True)
        return tuple((var, steps[loop.dim] * loop.tile) for var, loop in loops if steps.get(loop.dim))

    def edges(self, kind: str, low: int, high: int) -> When:
        """first(v) or last(v) of every loop in time between two depths."""
        key = (kind, low, high)
        if key not in self._edges:
            timed = self.vars[max(low, self.spread) : high]
            self._edges[key] = tuple([LoopEdge("first" if kind == "first" else "last", var) for var in timed])
        return self._edges[key]

    def extent(self, dim: str, depth: int, plan: OperandPlan | None = None) -> Extent:
        """A dim's clamped extent below ``depth`` loops, of a command that has all dims, or those of one operand."""
        part = Component(0, ((dim, 1),), 1, 0, None)
        return self.part_extent(part, depth, 0, self.trims if plan is None else self.trims_of(plan))

    def part_extent(self, part: Component, depth: int, skip: int, trims: Trims) -> Extent:
        """Clamped positions of a component (less ``skip`` kept ones) below ``depth`` loops, where bounds leave these
        ``trims`` of it."""
        cut, dims, choices = self.cut(depth), self.dims, []
        for dim, coef in part.terms:
            options = [(cut.get(dim, dims[dim]), Affine(0))]
            reach = self.reach(dim)
            if dim in cut and (dims[dim] % cut[dim] or dims[dim] % reach):
                options.append((dims[dim], Affine(0, self.starts({dim: -coef}, depth))))
            if dim in cut and reach < dims[dim] and reach % cut[dim]:
                options.append((reach, Affine(0, self.starts({dim: -coef}, depth, self.spread))))
            choices.append(options)
        names = [dim for dim, _ in part.terms]
        sums = []
        for combo in product(*choices):
            covered = part.size(dict(zip(names, [size for size, _ in combo], strict=True)))
            sums.append(_sum([start for _, start in combo], covered - skip))
        ends = self.ends(part, depth, trims)
        return Extent(part.name, sums[0].const, (*sums[1:], *self._emptied(part, depth, sums[0].const), *ends))

    def ends(self, part: Component, depth: int, trims: Trims) -> Iterator[Affine]:
        """Where tiles of a component of one dim end since ``trims`` leave nothing of it beyond."""
        for trim in trims:
            if part.terms != ((trim.dim, 1),):
                continue
            dim = trim.dim
            begins = [self.starts({name: step}, depth) for name, step in ((dim, -1), *trim.falling)]
            start = _sum([Affine(0, terms) for terms in begins], trim.offset)
            for ends in product(*(self._ends(other, step, depth) for other, step in trim.rising)):
                yield _sum([start, *ends], 0)

    def _ends(self, dim: str, step: int, depth: int) -> list[Affine]:
        """What the last index of a tile of ``dim`` may be at most, ``step`` times: by each loop that holds it."""
        found = [Affine(step * (self.dims[dim] - 1))]
        for at, loop in enumerate(self.loops[:depth]):
            if loop.dim == dim:
                found.append(Affine(step * (loop.tile - 1), self.starts({dim: step}, at + 1)))
        return found

    def _emptied(self, part: Component, depth: int, size: int) -> Iterator[Affine]:
        """Nothing, not even filter taps, of tiles behind the end of a dim, of which its last core may have fewer."""
        for dim, _ in part.terms if len(part.terms) > 1 else ():
            tile, reach, extent = self.cut(depth).get(dim, 0), self.reach(dim), self.dims[dim]
            if tile and -(-(extent % reach or reach) // tile) < -(-reach // tile):
                yield Affine(size * extent, self.starts({dim: -size}, depth))

    def far_region(self, plan: OperandPlan, operand: str, depth: int, skip: int = 0) -> Region:
        """The operand's tile where it comes from or goes to: in its tensor, or in the slot of the plan beyond."""
        if not plan.beyond:
            return self.tensor_region(plan, operand, depth, skip)
        beyond = self.problem.operand(plan.beyond)
        above, _ = self.keeps[beyond.name]
        strides: list[tuple[str, int]] = []
        const, steps = 0, dict[str, int]()
        for part, stride in zip(self.parts[plan.name], self.slot_strides(beyond), strict=True):
            if part.has_extent:
                strides.append((part.name, stride))
            if skip and self._slides(plan.name, part, depth):
                const += skip * stride
            for dim, coef in part.terms:
                steps[dim] = steps.get(dim, 0) + coef * stride
        start = Affine(const, self.starts(steps, depth, above))
        return Region(operand, self.ring(beyond.name), plan.element_bytes, tuple(strides), start)

    def far_strides(self, plan: OperandPlan) -> tuple[int, ...]:
        """Byte strides of an operand's tile where it comes from or goes to, one per component."""
        if plan.beyond:
            return self.slot_strides(self.problem.operand(plan.beyond))
        stored = self.stored[plan.operand]
        return tuple(stored.strides[part.axis] * part.unit for part in self.parts[plan.name])

    def tensor_region(self, plan: OperandPlan, operand: str, depth: int, skip: int = 0) -> Region:
        """The operand's tile in its tensor, one extent per component; ``skip`` = sliding rows already held."""
        stored = self.stored[plan.operand]
        strides: list[tuple[str, int]] = []
        clips: list[Clip] = []
        const, steps = stored.offset, dict[str, int]()
        for part in self.parts[plan.name]:
            if plan.rows is not None and part.axis == plan.rows.axis:
                continue
            stride = stored.strides[part.axis] * part.unit
            const += part.offset * stored.strides[part.axis]
            if not part.has_extent:
                continue
            strides.append((part.name, stride))
            kept = skip if self._slides(plan.name, part, depth) else 0
            const += kept * stride
            for dim, coef in part.terms:
                steps[dim] = steps.get(dim, 0) + coef * stride
            if part.clip is not None:
                clips.append(self._clip(part, depth, kept))
        offset = Affine(const, self.starts(steps, depth))
        return Region(operand, stored.store, plan.element_bytes, tuple(strides), offset, tuple(clips))

    def _clip(self, part: Component, depth: int, kept: int) -> Clip:
        assert part.clip is not None
        return Clip(part.name, Affine(part.offset + kept, self.starts(dict(part.terms), depth)), part.clip)

    def guard(self, guard: LayerGuard, depth: int) -> CommandGuard:
        """A layer's guard on the points of a tile below ``depth`` loops."""
        start = Affine(guard.axis.offset, self.starts(dict(guard.axis.terms), depth))
        return CommandGuard(guard.axis.terms, start, guard.length)

    def bound(self, bound: Bound, depth: int) -> CommandGuard:
        """A layer's bound on the points of a tile below ``depth`` loops."""
        tiles = self.tiles(depth)
        start = Affine(bound.axis.offset, self.starts(dict(bound.axis.terms), depth))
        highest = bound.axis.offset + sum(max(step, 0) * (self.dims[dim] - 1) for dim, step in bound.axis.terms)
        terms = tuple([(dim, step) for dim, step in bound.axis.terms if tiles[dim] > 1])
        return CommandGuard(terms, start, highest + 1)

    def _slides(self, operand: str, part: Component, depth: int) -> bool:
        above, sliding = self.keeps.get(operand, (0, False))
        return sliding and depth == above and self.loops[above - 1].dim in dict(part.terms)

    def slot_region(self, plan: OperandPlan, operand: str, depth: int, skip: int = 0) -> Region:
        """The whole slot of an operand's ring, one extent per component (row-major, padded, largest tile)."""
        part_strides = self.slot_strides(plan)
        strides, const = [], 0
        for part, stride in zip(self.parts[plan.name], part_strides, strict=True):
            if part.has_extent:
                strides.append((part.name, stride))
            if skip and self._slides(plan.name, part, depth):
                const += skip * stride
        return Region(operand, self.ring(plan.name), plan.element_bytes, tuple(strides), Affine(const))

    def slot_strides(self, plan: OperandPlan) -> tuple[int, ...]:
        """Byte strides of the operand's slot, one per component."""
        if plan.name not in self._slot_strides:
            sizes = slot_sizes(self.parts[plan.name], self.tiles(self.keeps[plan.name][0]))
            self._slot_strides[plan.name] = row_major(sizes, plan.element_bytes, self._padding(plan))
        return self._slot_strides[plan.name]

    def _padding(self, plan: OperandPlan) -> Padding:
        return slot_padding(self.parts[plan.name], self.problem.layer.dims, plan.element_bytes, plan.pad_bytes)

    def dims_region(self, plan: OperandPlan, operand: str, depth: int) -> Region:
        """The operand as a unit indexes it, by the layer's dims below ``depth`` loops.

        In its ring or its pinned tensor.
        """
        if plan.resident or not plan.buffered:
            return self._dims_in_tensor(plan, operand, depth)
        above, _ = self.keeps[plan.name]
        strides: dict[str, int] = {}
        for part, stride in zip(self.parts[plan.name], self.slot_strides(plan), strict=True):
            for dim, coef in part.terms:
                strides[dim] = strides.get(dim, 0) + coef * stride
        start = Affine(0, self.starts(strides, depth, above))
        return Region(operand, self.ring(plan.name), plan.element_bytes, self.moving(strides, depth), start)

    def _dims_in_tensor(self, plan: OperandPlan, operand: str, depth: int) -> Region:
        stored = self.stored[plan.name]
        const, strides = stored.offset, dict[str, int]()
        for number, (axis, stride) in enumerate(zip(plan.axes, stored.strides, strict=True)):
            if plan.rows is not None and number == plan.rows.axis:
                continue
            const += axis.offset * stride
            for dim, coef in axis.terms:
                strides[dim] = strides.get(dim, 0) + coef * stride
        terms = self.starts(strides, depth, stored.within)
        clips = self._copied_clips(plan, depth) if self.problem.engine == "copy" and not plan.resident else ()
        moving = self.moving(strides, depth, frozenset(clip.dim for clip in clips))
        return Region(operand, stored.store, plan.element_bytes, moving, Affine(const, terms), clips)

    def _copied_clips(self, plan: OperandPlan, depth: int) -> tuple[Clip, ...]:
        """What a copy straight from a tensor without a border pads: axes of one dim each."""
        clips = []
        for part in self.parts[plan.name]:
            if part.clip is not None:
                ((dim, _),) = plan.axes[part.axis].terms
                clips.append(Clip(dim, Affine(part.offset, self.starts({dim: 1}, depth)), part.clip))
        return tuple(clips)

    def moving(
        self, strides: Mapping[str, int], depth: int, clipped: frozenset[str] = frozenset()
    ) -> tuple[tuple[str, int], ...]:
        """Of byte strides by dim those of dims that have several indices below ``depth`` loops, or are ``clipped``."""
        tiles = self.tiles(depth)
        return tuple((dim, stride) for dim, stride in strides.items() if tiles[dim] > 1 or dim in clipped)

    def halo(self, operand: str) -> tuple[int, int]:
        """(positions, bytes) of a sliding operand's slot that its predecessor still holds."""
        plan = self.problem.operand(operand)
        above, _ = self.keeps[operand]
        dim = self.loops[above - 1].dim
        tiles = self.tiles(above)
        padded = self._padding(plan)
        for axis, (part, stride) in enumerate(zip(self.parts[operand], self.slot_strides(plan), strict=True)):
            if dim in dict(part.terms):
                kept = part.size(tiles) - part.step(dim) * tiles[dim]
                behind = padded.pad_bytes if axis == padded.row_axis else 0
                return kept, kept * stride + behind
        return 0, 0


def ring_name(layer: str, operand: str) -> str:
    """Name of the ring of a layer's operand."""
    return f"{layer}@{operand}"


def _sum(parts: Sequence[Affine], const: int) -> Affine:
    terms: dict[str, int] = {}
    for part in parts:
        const += part.const
        for var, coefficient in part.terms:
            terms[var] = terms.get(var, 0) + coefficient
    return Affine(const, tuple(terms.items()))
