"""The token run and the happens-before relation, compiled; both walk the parts of sides (see ``places``)."""

from __future__ import annotations

from typing import NamedTuple

from archsim.base.arrays import IntArray
from archsim.base.jit import entry, njit

NEVER = 1 << 60  # index of a command, or number of a place, that does not exist


class SideColumns(NamedTuple):
    """Side number s has the parts ``first[s]`` to ``first[s + 1]``, in order, and ``total[s]`` tokens. Part p lies in
    the nest whose first command is ``begin[p]``, has the run ``run[p]`` and comes after ``before[p]`` tokens of its
    side. Run r is ``places[start[r]:start[r + 1]]``.
    """

    first: IntArray
    total: IntArray
    begin: IntArray
    run: IntArray
    before: IntArray
    places: IntArray
    start: IntArray


class SourceColumns(NamedTuple):
    """A row for each giver of each source, as in ``TokenSources``; those of what side s takes from ``of[s]`` to
    ``of[s + 1]``. ``give``: the giver's side, -1 for none; ``several``: givers of its source; its rows are neighbours.
    """

    of: IntArray
    give: IntArray
    giver: IntArray
    initial: IntArray
    several: IntArray


class RunState(NamedTuple):
    """The token run. Parts of what queue q takes are ``parts[of[q]:of[q + 1]]``, by the first command of their nest;
    ``at``: the first of the nest that it is in; ``next``: of each part the next place, in ``SideColumns.places``.

    ``done``: commands of each queue that have ended; ``counts``: all of them. ``ready``: queues that may go on, of
    which there are ``waiting[q]``. ``cursor`` of each source's row: part of the giver's side that was last looked at.
    ``asleep[g]``: first row of a source whose taker waits for queue g; ``after`` of a row: the next one, and whether it
    is ``listed``.
    """

    of: IntArray
    parts: IntArray
    at: IntArray
    next: IntArray
    done: IntArray
    counts: IntArray
    ready: IntArray
    waiting: IntArray
    cursor: IntArray
    asleep: IntArray
    after: IntArray
    listed: IntArray
    taker: IntArray
    side: IntArray


@njit
def count_below(sides: SideColumns, side: int, index: int) -> int:
    """Tokens of a side at commands below ``index``."""
    low, high = sides.first[side], sides.first[side + 1]
    while low < high:  # the parts whose nests begin below it
        middle = (low + high) >> 1
        if sides.begin[middle] < index:
            low = middle + 1
        else:
            high = middle
    part = low - 1
    if part < sides.first[side]:
        return 0
    place, run = index - sides.begin[part], sides.run[part]
    low, high = sides.start[run], sides.start[run + 1]
    while low < high:
        middle = (low + high) >> 1
        if sides.places[middle] < place:
            low = middle + 1
        else:
            high = middle
    return int(sides.before[part] + low - sides.start[run])


@njit
def command_of(sides: SideColumns, side: int, number: int) -> int:
    """Command index of token ``number`` of a side, which has more."""
    low, high = sides.first[side], sides.first[side + 1]
    while low < high:  # the parts before which there are at most so many tokens
        middle = (low + high) >> 1
        if sides.before[middle] <= number:
            low = middle + 1
        else:
            high = middle
    part = low - 1
    return int(sides.begin[part] + sides.places[sides.start[sides.run[part]] + number - sides.before[part]])


@entry
@njit
def run_queues(taken: SideColumns, given: SideColumns, sources: SourceColumns, state: RunState) -> None:
    """Advance every queue until none can; all of them are ready."""
    queues, head, size = len(state.done), 0, len(state.done)
    while size:
        queue = state.ready[head]
        head, size = (head + 1) % queues, size - 1
        state.waiting[queue] = 0
        if not _advance(taken, given, sources, state, queue):
            continue
        row = state.asleep[queue]
        state.asleep[queue] = -1
        while row >= 0:
            state.listed[row] = 0
            other = state.taker[row]
            if not state.waiting[other]:
                state.waiting[other] = 1
                state.ready[(head + size) % queues] = other
                size += 1
            row = state.after[row]


@njit
def _advance(taken: SideColumns, given: SideColumns, sources: SourceColumns, state: RunState, queue: int) -> bool:
    """Pass the waits of ``queue`` as far as tokens are there; whether any command has ended."""
    end, started = state.of[queue + 1], state.done[queue]
    while state.at[queue] < end:
        first = state.at[queue]
        begin = taken.begin[state.parts[first]]
        last, place = first, NEVER
        while last < end and taken.begin[state.parts[last]] == begin:
            part = state.parts[last]
            if state.next[part] < taken.start[taken.run[part] + 1]:
                place = min(place, taken.places[state.next[part]])
            last += 1
        if place == NEVER:
            state.at[queue] = last
            continue
        state.done[queue] = begin + place
        for at in range(first, last):
            if not _is_met(taken, given, sources, state, state.parts[at], place):
                return bool(state.done[queue] > started)
        for at in range(first, last):
            state.next[state.parts[at]] = _behind(taken, state, state.parts[at], place)
    state.done[queue] = state.counts[queue]
    return bool(state.done[queue] > started)


@njit
def _behind(taken: SideColumns, state: RunState, part: int, place: int) -> int:
    """The next place of a part when the command at ``place`` has taken its tokens."""
    at, end = state.next[part], taken.start[taken.run[part] + 1]
    while at < end and taken.places[at] == place:
        at += 1
    return int(at)


@njit
def _is_met(
    taken: SideColumns, given: SideColumns, sources: SourceColumns, state: RunState, part: int, place: int
) -> bool:
    """Whether the tokens that a part takes at ``place`` are there; else the taker is told of more."""
    behind = _behind(taken, state, part, place)
    if behind == state.next[part]:
        return True
    side = state.side[part]
    need = taken.before[part] + behind - taken.start[taken.run[part]]
    row = sources.of[side]
    while row < sources.of[side + 1]:
        several = sources.several[row]
        if several == 1:
            met = _is_given(given, sources, state, row, need - sources.initial[row] - 1)
        else:
            met = _are_given(given, sources, state, row, need - sources.initial[row])
        if not met:
            for each in range(row, row + several):
                if not state.listed[each]:
                    state.listed[each] = 1
                    state.after[each] = state.asleep[sources.giver[each]]
                    state.asleep[sources.giver[each]] = each
            return False
        row += several
    return True


@njit
def _is_given(given: SideColumns, sources: SourceColumns, state: RunState, row: int, number: int) -> bool:
    """Whether the one giver of a source has given token ``number``."""
    if number < 0:
        return True
    side = sources.give[row]
    if side < 0 or number >= given.total[side]:
        return False
    part = max(state.cursor[row], given.first[side])
    while part + 1 < given.first[side + 1] and given.before[part + 1] <= number:
        part += 1
    state.cursor[row] = part
    place = given.places[given.start[given.run[part]] + number - given.before[part]]
    return bool(given.begin[part] + place < state.done[sources.giver[row]])


@njit
def _are_given(given: SideColumns, sources: SourceColumns, state: RunState, row: int, number: int) -> bool:
    """Whether the givers of a source together have given ``number`` tokens."""
    for each in range(row, row + sources.several[row]):
        if sources.give[each] >= 0:
            number -= count_below(given, sources.give[each], state.done[sources.giver[each]])
    return number <= 0


class FollowColumns(NamedTuple):
    """Who follows whom. A row for each giver of what queue q takes, from ``of[q]`` to ``of[q + 1]``, in order of the
    command that first needs it: sides ``take`` and ``give``, queue ``giver``, and ``spare``, the tokens that are taken
    before the giver's are needed. ``opens``, ``closes``: the commands that take the first and the last of these;
    ``last``: the one that gives the last.
    """

    of: IntArray
    take: IntArray
    give: IntArray
    giver: IntArray
    spare: IntArray
    opens: IntArray
    closes: IntArray
    last: IntArray


class Known(NamedTuple):
    """By queue: the last command that is known to have started, -1 if none; its first row that may tell more. ``turn``:
    queues to look at, a ring; ``waits`` whether each stands in it.
    """

    started: IntArray
    row: IntArray
    turn: IntArray
    waits: IntArray


@entry
@njit
def ended_before(
    taken: SideColumns,
    given: SideColumns,
    follows: FollowColumns,
    asked: tuple[IntArray, IntArray, IntArray],
    known: Known,
    found: IntArray,
) -> None:
    """For questions in order of queue and command: how many commands of a third queue have ended when it starts."""
    before = -1
    for row in range(len(found)):
        queue, index, other = asked[0][row], asked[1][row], asked[2][row]
        if queue != before:
            _forget(follows, known)
            before = queue
        _start(taken, given, follows, known, queue, index)
        found[row] = index if other == queue else known.started[other] + 1


@entry
@njit
def clocks_at(
    taken: SideColumns,
    given: SideColumns,
    follows: FollowColumns,
    asked: tuple[IntArray, IntArray, IntArray, IntArray],
    first: IntArray,
    others: IntArray,
    known: Known,
    found: IntArray,
) -> None:
    """The same of all queues of a sheet, ``others[first[sheet]:first[sheet + 1]]``; ``asked``: queue, command, sheet,
    and where its numbers begin in ``found``."""
    before = -1
    for each in range(len(asked[0])):
        queue, index, sheet, cell = asked[0][each], asked[1][each], asked[2][each], asked[3][each]
        if queue != before:
            _forget(follows, known)
            before = queue
        _start(taken, given, follows, known, queue, index)
        for place in range(first[sheet], first[sheet + 1]):
            other = others[place]
            found[cell + place - first[sheet]] = index if other == queue else known.started[other] + 1


@njit
def _forget(follows: FollowColumns, known: Known) -> None:
    """Nothing is known."""
    for queue in range(len(known.started)):
        known.started[queue] = -1
        known.row[queue] = follows.of[queue]


@njit
def _start(
    taken: SideColumns, given: SideColumns, follows: FollowColumns, known: Known, queue: int, index: int
) -> None:
    """Find all that has ended when command ``index`` of ``queue`` starts."""
    if index <= known.started[queue]:
        return
    known.started[queue] = index
    known.turn[0], head, size, queues = queue, 0, 1, len(known.started)
    while size:
        queue = known.turn[head]
        head, size = (head + 1) % queues, size - 1
        known.waits[queue] = 0
        index, told = known.started[queue], True
        for row in range(known.row[queue], follows.of[queue + 1]):
            if follows.opens[row] > index:
                break
            if index >= follows.closes[row]:
                command = follows.last[row]
                if told:
                    known.row[queue] = row + 1
            else:
                told = False
                if known.started[follows.giver[row]] >= follows.last[row]:
                    continue
                number = count_below(taken, follows.take[row], index + 1) - follows.spare[row]
                command = command_of(given, follows.give[row], number - 1)
            giver = follows.giver[row]
            if command > known.started[giver]:
                known.started[giver] = command
                if not known.waits[giver]:
                    known.waits[giver] = 1
                    known.turn[(head + size) % queues] = giver
                    size += 1
