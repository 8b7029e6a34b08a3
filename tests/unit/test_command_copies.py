"""A command with other tokens is the same command in all else."""

from __future__ import annotations

from dataclasses import fields, replace

from archsim.ir.program import Command, Token


def test_other_tokens_change_nothing_else() -> None:
    """Every field holds something of its own, so that none can be left out or stand in another one's place."""
    command = Command(*[f"value of {field.name}" for field in fields(Command)])  # type: ignore[arg-type]
    waits, signals = (Token("a"),), (Token("b", 2),)
    assert command.with_tokens(waits, signals) == replace(command, waits=waits, signals=signals)
