"""Words, colours and order of causes for every page; all of them are columns of ``archsim.ir.causes``."""

from __future__ import annotations

from collections.abc import Iterable

from archsim.ir.causes import CAUSES, CauseKind, StallCause

_UNKNOWN_COLOUR = "#5F6873"
_WAITS = "waits for "  # how the labels of waits begin


def cause(key: str) -> StallCause:
    """The row of a key or bound; the operand of ``stall_dram.weights`` is dropped; unknown words are grey."""
    word = key.partition(".")[0]
    return CAUSES.get(word) or StallCause(word, word.replace("_", " "), _UNKNOWN_COLOUR, CauseKind.DONE, "")


def label(key: str) -> str:
    """``stall_dram.weights`` as ``waits for DRAM (weights)``."""
    operand = key.partition(".")[2]
    return f"{cause(key).label} ({operand})" if operand else cause(key).label


def in_order(keys: Iterable[str]) -> list[str]:
    """``keys`` in the order of the table; unknown ones last, by name; operands of one cause by name."""
    return sorted(keys, key=lambda key: (CAUSES.place(key.partition(".")[0]), key))


def waiting(key: str) -> str:
    """What is waited for, without the verb: ``stall_dram.weights`` as ``DRAM (weights)``."""
    return label(key).removeprefix(_WAITS)


def bound_label(bound_by: str) -> str:
    """``sram_port`` as ``SRAM port``, ``compute`` as it is."""
    return bound_by if cause(bound_by).kind is CauseKind.WORK else waiting(bound_by)


def bound_colour(bound_by: str) -> str:
    """The colour of a layer's ``bound_by``."""
    return cause(bound_by).colour


def mended_by(key: str) -> str:
    """Which parts of a chip have keys against a cause: ``dram or dma``; '' where none has."""
    return " or ".join(cause(key).mended_by)
