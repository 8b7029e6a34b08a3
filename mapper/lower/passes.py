"""The passes of a group as each queue runs them: members one behind the other, some of them passes ahead.

With A the largest number of passes that a member is ahead, turn t has each member's pass t - (A - ahead), where there
is one. The first A + 1 turns, in which slots of windows are taken for the first time, and the last A, in which members
that are ahead are through, stand for themselves, as does the turn before these where the last slot of a window is then
kept; those between are a loop. Of two shared loops the turns of the inner one follow one another without a break:
while the last members end one iteration of the outer loop, the first ones begin the next. Where slots of a window are
whole or free passes later than they are taken, an iteration of the outer loop is through before the next one begins,
since a window has its slots in order.

A window is a ring. Its maker takes the next slot when it begins a pass and gives it when it is done; of a window whose
readers reach ``lead`` passes further, the first slot is made by so many passes more, and the last slots are given when
nothing is left to make. The first member that reads it on a queue takes a slot for all of them there pass by pass, and
the last one frees it; those that are passes behind the others read the last slot for longer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from archsim.ir.program import Command, CommandLoop, LoopEdge, ProgramNode, Token, When
from mapper.lower.ended import ended
from mapper.lower.fused import fused
from mapper.lower.indexed import IndexAt, Iteration

Nodes = tuple[ProgramNode, ...]


@dataclass(frozen=True)
class MadeWindow:
    """A window as its maker writes it: ``ring``; whether a slot ``retains`` bytes of the one before it; ``turns``: of
    its innermost loop, in which readers take a slot; ``lead``, and by how many bytes a pass is further on
    (``step_bytes``); ``ending``: what fills a step behind the tensor's end."""

    ring: str
    retains: bool
    turns: int
    lead: int
    step_bytes: int
    ending: Nodes

    def takes(self, number: int | None) -> bool:
        """Whether a pass takes a slot; None: one amid the others."""
        return number is None or number == 0 or number > self.lead

    def gives(self, number: int | None) -> bool:
        """Whether a slot is whole after a pass."""
        return number is None or number >= self.lead


@dataclass(frozen=True)
class ReadWindow:
    """A window as a member reads it: ``ring``; whether its queue has ``tokens`` there, and is the maker's ``own``;
    whether it is the ``first`` of the members on it that read; ``lag``: passes that it is behind the slot which its
    queue has, and those of ``later`` members; ``turns``: of its innermost loop, in which slots are taken;
    ``step_bytes``: by how many bytes a pass is further on."""

    ring: str
    tokens: bool
    own: bool
    first: bool
    lag: int
    later: tuple[int, ...]
    turns: int
    step_bytes: int

    def takes(self) -> bool:
        """Whether it takes a slot for its queue when a pass begins."""
        return self.tokens and self.first

    def frees(self, number: int | None) -> bool:
        """Whether the slot that its queue has is free behind a pass: no later member reads there any more."""
        if not self.tokens:
            return False
        if self.own:
            return self.first
        if number is None:
            return not self.later
        slot = number + self.lag
        if slot < self.turns - 1:
            return all(slot < lag for lag in self.later)
        return number == self.turns - 1 and all(lag < self.lag for lag in self.later)

    def moved(self, number: int | None) -> int:
        """Bytes that it reads further on, of a slot that stays the last one."""
        past = number + self.lag - (self.turns - 1) if number is not None else 0
        return max(0, past) * self.step_bytes


@dataclass(frozen=True)
class PassBody:
    """What a member does on one queue: ``before`` and ``behind`` the shared loops, by how many of them are above, and
    its ``body`` in each pass. ``vars``, ``trips``: of its own loops that are the shared ones, outermost first; ``made``
    and ``read``: windows that it writes and reads on this queue."""

    layer: str
    ahead: int
    vars: tuple[str, ...]
    trips: tuple[int, ...]
    before: tuple[Nodes, ...]
    body: Nodes
    behind: tuple[Nodes, ...]
    made: tuple[MadeWindow, ...] = ()
    read: tuple[ReadWindow, ...] = ()


@dataclass(frozen=True)
class PassPipeline:
    """The passes of a group on one queue. ``trips``: of the shared loops; ``deepest``: A; ``anew``: whether the passes
    of one iteration of the outer loop are through before the next one begins."""

    group: str
    members: Sequence[PassBody]
    trips: tuple[int, ...]
    deepest: int
    anew: bool = False

    def nodes(self) -> Iterator[ProgramNode]:
        """All that the queue runs."""
        for member in self.members:
            yield from member.before[0]
        yield from self._apart() if self.anew else self._without_break()
        for member in self.members:
            yield from member.behind[0]

    def _apart(self) -> Iterator[ProgramNode]:
        """All passes of one iteration of the outer loop, then those of the next one."""
        outer, var = self.trips[0], f"{self.group}.outer"
        now = IndexAt(0, var, outer)
        body = (*self._row(now, None, "pass"), *self._ending(now))
        if body:
            yield CommandLoop(var, outer, body)

    def _without_break(self) -> Iterator[ProgramNode]:
        outer, var = self.trips[0] if len(self.trips) > 1 else 1, f"{self.group}.outer"
        yield from self._row(IndexAt(0), None, "pass")
        if outer > 1:
            body = tuple(self._row(IndexAt(1, var, outer - 1), IndexAt(0, var, outer - 1), "later"))
            if body:
                yield CommandLoop(var, outer - 1, body)
        yield from self._ending(IndexAt(outer - 1))

    def _ending(self, last: IndexAt) -> Iterator[ProgramNode]:
        """The turns in which members that are ahead are through."""
        inner = self.trips[-1]
        for turn in range(inner, inner + self.deepest):
            yield from self._turn(turn, None, last, f"~end{turn - inner}")

    def _row(self, now: IndexAt, before: IndexAt | None, name: str) -> Iterator[ProgramNode]:
        """One iteration of the outer loop, in whose first turns some members end the one ``before``."""
        inner = self.trips[-1]
        alone = min(self.deepest + 1, inner)
        for turn in range(alone):
            yield from self._turn(turn, now, before, f"~{name}{turn}")
        last = inner - 1 if self._lags and inner > alone else inner
        if last > alone:
            yield from self._loop(now, alone, last - alone, name)
        for turn in range(last, inner):
            yield from self._turn(turn, now, before, f"~{name}_last")

    def _loop(self, now: IndexAt, first: int, turns: int, name: str) -> Iterator[ProgramNode]:
        """Turns from the ``first`` one on that are alike, of an iteration of the outer loop."""
        var, body = f"{self.group}.{name}", list[ProgramNode]()
        for member in self.members:
            body += self._pass(member, now, IndexAt(first - self._behind(member), var, turns), f"~{name}")
        if body:
            yield CommandLoop(var, turns, tuple(body))

    @property
    def _lags(self) -> bool:
        """Whether some member keeps the last slot for longer than the one that took it."""
        return any(each.lag for member in self.members for each in member.read)

    def _turn(self, turn: int, now: IndexAt | None, before: IndexAt | None, copy: str) -> Iterator[ProgramNode]:
        """One turn that stands for itself, of an iteration ``now`` of the outer loop, or behind the last one."""
        inner = self.trips[-1]
        for member in self.members:
            number = turn - self._behind(member)
            running = now if now is not None else before
            if number >= 0 and running is not None:
                yield from self._pass(member, running, IndexAt(number), copy)
            elif now is not None and before is not None:
                yield from self._pass(member, before, IndexAt(inner + number), copy)

    def _behind(self, member: PassBody) -> int:
        return self.deepest - member.ahead

    def _pass(self, member: PassBody, outer: IndexAt, inner: IndexAt, copy: str) -> Nodes:
        """One pass of a member; behind its last one what its readers see there."""
        number = None if inner.var else inner.shift
        made = member.made
        if number is not None and number >= member.trips[-1]:
            made = tuple(each for each in made if number < each.turns + each.lead)
            own: Nodes = tuple(node for each in made for node in each.ending)
            read: tuple[ReadWindow, ...] = ()
        else:
            own, read = self._own(member, outer, inner, copy), member.read
        waits = tuple([Token(f"{each.ring}.full") for each in read if each.takes()])
        begun = [*self._begun(member.layer, "reads", waits)]
        for window in made:
            if window.takes(number):
                retains = window.retains and number != 0
                begun += self._begun(member.layer, "takes", (Token(f"{window.ring}.free"),), retains)
        given = [Token(f"{each.ring}.free") for each in read if each.frees(number)]
        given += [Token(f"{window.ring}.full") for window in made if window.gives(number)]
        return _given(member.layer, fused((*begun, *own)), tuple(given))

    def _own(self, member: PassBody, outer: IndexAt, inner: IndexAt, copy: str) -> Nodes:
        at = dict(zip(member.vars, (outer, inner)[-len(member.vars) :], strict=True))
        number = None if inner.var else inner.shift
        moved = {
            window.ring: (number - window.lead) * window.step_bytes
            for window in member.made
            if number is not None and number < window.lead
        } | {each.ring: each.moved(number) for each in member.read}
        iteration = Iteration(at, dict(zip(member.vars, member.trips, strict=True)), copy, moved)
        if len(member.vars) == 1:
            return iteration.nodes(member.body)
        first, last = (LoopEdge("first", member.vars[-1]),), (LoopEdge("last", member.vars[-1]),)
        return iteration.nodes((*_only(member.before[1], first), *member.body, *_only(member.behind[1], last)))

    def _begun(self, layer: str, name: str, waits: tuple[Token, ...], retains: bool = False) -> Nodes:
        return (Command(f"{layer}.{name}", "SYNC", layer, waits=waits, retains=retains),) if waits else ()


def _only(nodes: Nodes, when: When) -> Nodes:
    """The nodes in some turns alone."""
    return tuple(
        replace(node, body=_only(node.body, when))
        if isinstance(node, CommandLoop)
        else replace(node, when=(*when, *node.when))
        for node in nodes
    )


def _given(layer: str, nodes: Nodes, signals: tuple[Token, ...]) -> Nodes:
    """The nodes, behind which ``signals`` are given."""
    if not signals:
        return nodes
    found = ended(nodes, signals)
    return found if found is not None else (*nodes, Command(f"{layer}.gives", "SYNC", layer, signals=signals))
