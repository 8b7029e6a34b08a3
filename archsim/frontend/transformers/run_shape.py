"""Which rows of a transformer are run: its phases and parameters.

A model that writes one token after another has the phases prefill (``prompt`` rows at once, behind nothing) and decode
(``width`` new rows behind ``past`` older ones, whose keys and values lie in memory). One step of decode is one graph.
Where ``context`` alone is stated, decode is the steps that fill it: past = context - tokens * width. Several steps, and
prefill with the steps behind it (generate), are as many graphs: ``DecodeSteps`` says which.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import NoReturn

from archsim.base.errors import ConfigError, ModelError, nearest
from archsim.frontend.decode_steps import DecodeSteps

PREFILL, DECODE, GENERATE = "prefill", "decode", "generate"
PHASES = (PREFILL, DECODE, GENERATE)
PROMPT = 2048  # rows, where neither the user nor the model's positions say another number
LOGITS = ("all", "last")
MOST_ROWS = 1 << 22
DECODER = ("batch", "prompt", "tokens", "width", "context", "logits")  # parameters of a model that writes tokens
ENCODER, SOURCE = ("batch", "prompt"), "source"


@dataclass(frozen=True, slots=True)
class RunShape:
    """Of one run: ``rows`` new positions behind ``past`` older ones, of ``context`` for which there is room."""

    batch: int
    rows: int
    past: int
    context: int
    last_only: bool
    phase: str
    source: int = 0  # rows of the encoder, where it is asked for them

    @property
    def keys(self) -> int:
        """Positions that the last row sees."""
        return self.past + self.rows


class AskedShape:
    """What the user asked of a model: ``parameters`` by name and a ``phase``, '' where none was named.

    ``steps``: what was asked of a model that writes tokens where that is more than one run; the shape is the first's.
    """

    def __init__(self, place: str, parameters: Mapping[str, int | str], batch: int | None, phase: str) -> None:
        """``batch``: as an option of its own. Raises ConfigError where the parameter of this name is another."""
        self.place, self._given, self.phase = place, dict(parameters), phase
        self.steps: DecodeSteps | None = None
        if batch is not None and self._given.setdefault("batch", batch) != batch:
            self.fail("batch", f"found {self._given['batch']}; --batch says {batch}")

    def decoder(self, positions: int = 0, prompt: int = PROMPT, source: int = 0) -> RunShape:
        """Of a model that writes tokens; ``positions``: for how many it has embeddings, 0 where others than these are
        as good; ``prompt``, ``source``: rows of decoder and encoder where the user states none, 0 for no parameter."""
        self._known((*DECODER, *((SOURCE,) if source else ())))
        phase = self.phase or PREFILL
        if phase not in PHASES:
            raise ConfigError(
                f"{self.place}: has no phase '{phase}'{nearest(phase, PHASES)}; allowed {', '.join(PHASES)}"
            )
        free = min(prompt, positions or prompt)
        found = self._prefill(free) if phase == PREFILL else self._decode(free, positions)
        if positions and found.context > positions:
            self._no_room(found, f"the model has {positions} positions")
        return replace(found, source=self._size(SOURCE, source) if source else 0)

    def encoder(self, positions: int = 0) -> RunShape:
        """Of a model that reads all rows at once."""
        self.without_phases()
        self._known(ENCODER)
        rows = self._size("prompt", min(PROMPT, positions or PROMPT))
        if positions and rows > positions:
            self.fail("prompt", f"found {rows}; the model has {positions} positions")
        return RunShape(self.batch, rows, 0, rows, False, "")

    def images(self) -> int:
        """How many images a model of images is given."""
        self.without_phases()
        self._known(("batch",))
        return self.batch

    @property
    def batch(self) -> int:
        """How many samples run together."""
        return self._size("batch", 1)

    def without_phases(self) -> None:
        """Refuse a phase: the model has none."""
        if self.phase:
            raise ConfigError(f"{self.place}: has no phases; found '{self.phase}'; allowed the name alone")

    def fail(self, key: str, message: str) -> NoReturn:
        """Raise a ConfigError that names the parameter."""
        raise ConfigError(f"{self.place}: parameter {key}: {message}")

    def _prefill(self, free: int) -> RunShape:
        for key in ("tokens", "width"):
            if self._given.get(key, 1) != 1:
                self.fail(key, f"found {self._given[key]}; allowed in the phases {DECODE} and {GENERATE}")
        room = self._size("context", 0, low=0)
        rows = self._size("prompt", min(free, room or free))
        return self._checked(RunShape(self.batch, rows, 0, room or rows, self._last_only(), PREFILL))

    def _decode(self, free: int, positions: int) -> RunShape:
        """The first step, or before it the prompt; all of them where there are several."""
        whole = self.phase == GENERATE
        tokens, width, room = self._size("tokens", 1), self._size("width", 1), self._size("context", 0, low=0)
        if positions:
            free = max(min(free, positions - tokens * width), 0)  # so that new rows have positions too
        left = room - tokens * width if room else free
        past = self._size("prompt", min(left, free) if whole else left, low=int(whole))
        last_only, context = self._last_only(default=LOGITS[whole]), room or past + tokens * width
        found = self._checked(RunShape(self.batch, tokens * width, past, context, last_only, DECODE), int(whole))
        if whole or tokens > 1:
            self.steps = DecodeSteps(
                self.batch, past, tokens, width, context, str(self._given.get("logits", "")), whole
            )
        if whole:
            return replace(found, rows=past, past=0, phase=PREFILL)
        return replace(found, rows=width)

    def _checked(self, found: RunShape, least: int = 0) -> RunShape:
        """A run that has room; ``least``: older rows that there must be."""
        if found.past < least or found.keys > found.context:
            older = max(found.past, least)
            needed = f"{older} older and {found.rows} new rows" if older else f"{found.rows} rows"
            self._no_room(found, f"has no room for {needed}")
        return found

    def _no_room(self, found: RunShape, why: str) -> NoReturn:
        """Raise a ModelError that names the parameter which was given."""
        key = next((key for key in ("context", "tokens", "prompt", "width") if key in self._given), "context")
        raise ModelError(f"{self.place}: parameter {key}: found {self._given.get(key, found.context)}; {why}")

    def _last_only(self, default: str = LOGITS[0]) -> bool:
        found = self._given.get("logits", default)
        return found == LOGITS[1] if found in LOGITS else self.fail("logits", f"found {found}; allowed all, last")

    def _size(self, key: str, default: int, low: int = 1) -> int:
        found = self._given.get(key, default)
        if type(found) is not int or (key in self._given and not low <= found <= MOST_ROWS):
            self.fail(key, f"found {found}; allowed {low} to {MOST_ROWS}")
        return found

    def _known(self, known: Collection[str]) -> None:
        for key in self._given:
            if key not in known:
                raise ConfigError(
                    f"{self.place}: has no parameter '{key}' to set{nearest(key, known)}; known: {', '.join(known)}"
                )
