"""The runs of a model that makes tokens one after another: its prompt, and steps behind more and more rows."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DecodeSteps:
    """Tokens one after another: ``tokens`` steps of ``width`` new rows each for ``batch`` samples, the first behind
    ``prompt`` rows, which are run before them ``with_prefill``; ``context``: rows for which there is room; ``logits``:
    all | last, of every run; where it is '' the last row's of the prompt, and all of a step's, whose rows all count."""

    batch: int
    prompt: int
    tokens: int
    width: int
    context: int
    logits: str
    with_prefill: bool

    def past(self, step: int) -> int:
        """Rows before a step, counted from 0."""
        return self.prompt + step * self.width

    def of_prefill(self) -> dict[str, int | float | str]:
        """Parameters of the run of the prompt."""
        return {"batch": self.batch, "prompt": self.prompt, "context": self.context, "logits": self.logits or "last"}

    def of_step(self, step: int) -> dict[str, int | float | str]:
        """Parameters of the run of one step."""
        return {**self.of_prefill(), "logits": self.logits or "all", "prompt": self.past(step), "width": self.width}
