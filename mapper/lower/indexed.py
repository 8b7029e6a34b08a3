"""Commands of a loop's body at one of its iterations, or at those of another loop that stands for it from there on.

A loop that is taken apart leaves copies of its body. In one of these its variable is a number, or another loop's
variable and a number: then places move with that one, and conditions on first and last iterations hold there or not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeVar

from archsim.ir.program import (
    Affine,
    Clip,
    Command,
    CommandGuard,
    CommandLoop,
    Extent,
    LoopEdge,
    ProgramNode,
    Region,
    Token,
    When,
)

T = TypeVar("T")


class IndexAt(NamedTuple):
    """What a variable of a loop is: ``shift`` alone, or so much more than the variable ``var`` of one of ``turns``."""

    shift: int
    var: str = ""
    turns: int = 1

    def turn_of(self, number: int) -> int:
        """The turn of ``var`` in which it is ``number``."""
        return number - self.shift


@dataclass(frozen=True)
class Iteration:
    """Iterations of loops that are taken apart: ``at`` what their variables are, ``trips`` of them. ``copy``: added to
    the names of loops inside, which stand in each copy; ``moved``: bytes by which regions in a store lie further on."""

    at: Mapping[str, IndexAt]
    trips: Mapping[str, int]
    copy: str = ""
    moved: Mapping[str, int] = field(default_factory=dict)

    def nodes(self, nodes: Iterable[ProgramNode]) -> tuple[ProgramNode, ...]:
        """Those of a body there; commands that never run there are left out."""
        return tuple(self._nodes(nodes))

    def _nodes(self, nodes: Iterable[ProgramNode]) -> Iterator[ProgramNode]:
        for node in nodes:
            if isinstance(node, CommandLoop):
                body = self.nodes(node.body)
                if body:
                    yield CommandLoop(f"{node.var}{self.copy}", node.trips, body)
            elif (when := self.when(node.when)) is not None:
                yield self._command(node, when)

    def when(self, when: When) -> When | None:
        """A condition there, None where it never holds."""
        found: list[LoopEdge] = []
        for edge in when:
            holds = self._edge(edge)
            if holds is False:
                return None
            if holds is not True:
                found.append(holds)
        return tuple(found)

    def _edge(self, edge: LoopEdge) -> LoopEdge | bool:
        at = self.at.get(edge.var)
        if at is None:
            return replace(edge, var=f"{edge.var}{self.copy}")
        turn = at.turn_of(0 if edge.kind == "first" else self.trips[edge.var] - 1)
        if not 0 <= turn < at.turns:
            return edge.negated
        if not at.var:
            return not edge.negated
        if turn == 0:
            return LoopEdge("first", at.var, edge.negated)
        assert turn == at.turns - 1, f"{edge} lies amid the turns of {at}"
        return LoopEdge("last", at.var, edge.negated)

    def _command(self, command: Command, when: When) -> Command:
        fresh = self.when(command.fresh)
        assert fresh is not None, "sums begin anew inside of an iteration"
        lookup = command.index
        return replace(
            command,
            when=when,
            waits=self._tokens(command.waits),
            signals=self._tokens(command.signals),
            extents=self._each(command.extents, self._extent),
            reads=self._each(command.reads, self._region),
            writes=self._each(command.writes, self._region),
            guards=self._each(command.guards, self._guard),
            fresh=fresh,
            index=replace(lookup, start=self.affine(lookup.start)) if lookup is not None else None,
        )

    def _each(self, parts: tuple[T, ...], of: Callable[[T], T]) -> tuple[T, ...]:
        return tuple([of(part) for part in parts])

    def _tokens(self, tokens: Iterable[Token]) -> tuple[Token, ...]:
        found = ((token, self.when(token.when)) for token in tokens)
        return tuple([Token(token.name, token.n, when) for token, when in found if when is not None])

    def affine(self, affine: Affine) -> Affine:
        """A sum over loop variables there."""
        const, terms = affine.const, dict[str, int]()
        for var, coefficient in affine.terms:
            at = self.at.get(var)
            if at is not None:
                const += coefficient * at.shift
            name = f"{var}{self.copy}" if at is None else at.var
            if name:
                terms[name] = terms.get(name, 0) + coefficient
        return Affine(const, tuple(terms.items()))

    def _extent(self, extent: Extent) -> Extent:
        return Extent(extent.dim, extent.size, self._each(extent.limits, self.affine))

    def _region(self, region: Region) -> Region:
        offset = self.affine(region.offset)
        by = self.moved.get(region.store, 0)
        return replace(
            region,
            offset=replace(offset, const=offset.const + by) if by else offset,
            clips=self._each(region.clips, self._clip),
        )

    def _clip(self, clip: Clip) -> Clip:
        return Clip(clip.dim, self.affine(clip.start), clip.length)

    def _guard(self, guard: CommandGuard) -> CommandGuard:
        return CommandGuard(guard.terms, self.affine(guard.start), guard.length)
