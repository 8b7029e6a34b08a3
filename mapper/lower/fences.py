"""Order between layers: which command must wait for which earlier layer's queue, and the tokens that say so.

Two touches of overlapping bytes, one of them a write, in different layers are ordered by a token from the earlier
layer's end in its queue to the later command - unless the queues' own order or an earlier token already implies it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from archsim.ir.program import Semaphore


@dataclass(frozen=True, slots=True)
class Span:
    """Bytes [low, high) of a memory."""

    memory: str
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class _Touch:
    """Of bytes [low, high) of one memory."""

    low: int
    high: int
    layer: int
    queue: str
    write: bool


@dataclass
class Fences:
    """Accumulates touches layer by layer; ``wait_for`` returns the token names that a command must take.

    ``across``: a queue stands for one on each of several cores, which are in no order among themselves.
    """

    spans: Mapping[str, Span]
    across: bool = False
    _past: dict[str, list[_Touch]] = field(default_factory=dict)  # by memory
    _known: dict[str, dict[str, int]] = field(default_factory=dict)  # queue -> other queue -> last layer known complete
    _at_end: dict[tuple[str, int], dict[str, int]] = field(default_factory=dict)
    _given: dict[tuple[str, int], list[str]] = field(default_factory=dict)
    _layer_touches: list[tuple[str, _Touch]] = field(default_factory=list)  # with their memory

    def wait_for(self, layer: int, queue: str, touches: tuple[tuple[str, bool], ...]) -> list[str]:
        """Tokens that a command of ``layer`` in ``queue`` takes before its first run."""
        needed: dict[str, int] = {}
        for name, write in touches:
            span = self.spans[name]
            low, high = span.low, span.high
            meeting = [past for past in self._past.get(span.memory, ()) if past.low < high and low < past.high]
            for past in meeting:
                if (write or past.write) and (self.across or past.queue != queue):
                    needed[past.queue] = max(needed.get(past.queue, -1), past.layer)
        self.note(layer, queue, touches)
        return [
            self._token(source, needed[source], queue)
            for source in sorted(needed)
            if self._new(source, needed[source], queue)
        ]

    def note(self, layer: int, queue: str, touches: tuple[tuple[str, bool], ...]) -> None:
        """Touches of a command that needs to wait for nothing."""
        for name, write in touches:
            span = self.spans[name]
            self._layer_touches.append((span.memory, _Touch(span.low, span.high, layer, queue, write)))

    def need(self, layer: int, source: str, queue: str) -> list[str]:
        """Token that orders ``queue`` after all that ``source`` does up to ``layer``; [] when already known."""
        return [self._token(source, layer, queue)] if self._new(source, layer, queue) else []

    def all_known(self, layer: int, queues: tuple[str, ...], told: Iterable[str]) -> None:
        """All that ``queues`` do up to ``layer`` has ended before anything else begins in those that are ``told``."""
        for queue in told:
            known = self._known.setdefault(queue, {})
            for source in queues:
                known[source] = max(known.get(source, -1), layer)

    def _new(self, source: str, layer: int, queue: str) -> bool:
        return self._known.setdefault(queue, {}).get(source, -1) < layer

    def _token(self, source: str, layer: int, queue: str) -> str:
        token = f"{source}.{layer}>{queue}"
        self._given.setdefault((source, layer), []).append(token)
        mine = self._known[queue]
        mine[source] = layer
        for other, until in self._at_end.get((source, layer), {}).items():
            mine[other] = max(mine.get(other, -1), until)
        return token

    def close_layer(self, layer: int, queues: tuple[str, ...]) -> None:
        """End a layer: its touches become past; what each queue knows is what a later waiter on it learns."""
        for queue in queues:
            self._at_end[queue, layer] = dict(self._known.get(queue, {}))
        for memory, touch in self._layer_touches:
            if touch.write:
                low, high = touch.low, touch.high
                self._past[memory] = [
                    old
                    for old in self._past.get(memory, ())
                    if old.low < low or high < old.high or not self._superseded(old, touch)
                ]
        for memory, touch in self._layer_touches:
            self._past.setdefault(memory, []).append(touch)
        self._layer_touches = []

    def _superseded(self, old: _Touch, new: _Touch) -> bool:
        """Whoever waits for ``new``, which writes all that ``old`` touches, has waited for ``old``.

        Same queue, or its order is known to the new one's queue.
        """
        if old.layer >= new.layer:
            return False
        in_order = old.queue == new.queue and not self.across
        return in_order or self._known.get(new.queue, {}).get(old.queue, -1) >= old.layer

    def signals(self, queue: str, layer: int) -> list[str]:
        """Tokens that ``queue`` gives when it is done with ``layer``."""
        return self._given.get((queue, layer), [])

    def semaphores(self) -> list[Semaphore]:
        """All tokens used, as semaphores of the Program."""
        return [Semaphore(token) for given in self._given.values() for token in given]
