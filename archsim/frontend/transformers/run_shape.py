"""Which rows of a transformer are run: its phases and parameters.

A model that writes one token after another has the phases prefill (``prompt`` rows at once, behind nothing) and decode
(``width`` new rows behind ``past`` older ones, whose keys and values lie in memory). One step of decode is one graph.
Where ``context`` alone is stated, decode is the steps that fill it: past = context - tokens * width. Several steps, and
prefill with the steps behind it (generate), are as many graphs: ``DecodeSteps`` says which.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NoReturn

from archsim.base.errors import ConfigError, ModelError, nearest
from archsim.frontend.configs.asked import AskedParameters, ParameterValue
from archsim.frontend.decode_steps import DecodeSteps

PREFILL, DECODE, GENERATE = "prefill", "decode", "generate"
PHASES = (PREFILL, DECODE, GENERATE)
PROMPT = 2048  # rows, where neither the user nor the model's positions say another number
LOGITS = ("all", "last")
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


class AskedShape(AskedParameters):
    """What the user asked of a transformer, as rows.

    ``steps``: what was asked of a model that writes tokens where that is more than one run; the shape is the first's.
    """

    def __init__(
        self, place: str, parameters: Mapping[str, ParameterValue], batch: int | None = None, phase: str = ""
    ) -> None:
        """As ``AskedParameters``."""
        super().__init__(place, parameters, batch, phase)
        self.steps: DecodeSteps | None = None

    def decoder(self, positions: int = 0, prompt: int = PROMPT, source: int = 0) -> RunShape:
        """Of a model that writes tokens; ``positions``: for how many it has embeddings, 0 where others than these are
        as good; ``prompt``, ``source``: rows of decoder and encoder where the user states none, 0 for no parameter."""
        self.known((*DECODER, *((SOURCE,) if source else ())))
        phase = self.phase or PREFILL
        if phase not in PHASES:
            raise ConfigError(
                f"{self.place}: has no phase '{phase}'{nearest(phase, PHASES)}; allowed {', '.join(PHASES)}"
            )
        free = min(prompt, positions or prompt)
        found = self._prefill(free) if phase == PREFILL else self._decode(free, positions)
        if positions and found.context > positions:
            self._no_room(found, f"the model has {positions} positions")
        return replace(found, source=self.size(SOURCE, source) if source else 0)

    def encoder(self, positions: int = 0) -> RunShape:
        """Of a model that reads all rows at once."""
        self.without_phases()
        self.known(ENCODER)
        rows = self.size("prompt", min(PROMPT, positions or PROMPT))
        if positions and rows > positions:
            self.fail("prompt", f"found {rows}; the model has {positions} positions")
        return RunShape(self.batch, rows, 0, rows, False, "")

    def _prefill(self, free: int) -> RunShape:
        for key in ("tokens", "width"):
            if self._given.get(key, 1) != 1:
                self.fail(key, f"found {self._given[key]}; allowed in the phases {DECODE} and {GENERATE}")
        room = self.size("context", 0, low=0)
        rows = self.size("prompt", min(free, room or free))
        return self._checked(RunShape(self.batch, rows, 0, room or rows, self._last_only(), PREFILL))

    def _decode(self, free: int, positions: int) -> RunShape:
        """The first step, or before it the prompt; all of them where there are several."""
        whole = self.phase == GENERATE
        tokens, width, room = self.size("tokens", 1), self.size("width", 1), self.size("context", 0, low=0)
        if positions:
            free = max(min(free, positions - tokens * width), 0)  # so that new rows have positions too
        left = room - tokens * width if room else free
        past = self.size("prompt", min(left, free) if whole else left, low=int(whole))
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
        return self.word("logits", default, LOGITS) == LOGITS[1]
