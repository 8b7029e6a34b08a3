"""The causes that time and MAC slots are charged to: order, label and colour for every page (meanings: ``ir.causes``).

Colours begin from the Okabe-Ito set (Okabe and Ito, "Color Universal Design", 2008), which stays apart under
the common forms of colour blindness; the rest are tints and greys that differ from it in lightness.
"""

from __future__ import annotations

from dataclasses import dataclass

from archsim.ir.causes import MEANINGS


@dataclass(frozen=True, slots=True)
class StallCause:
    """``key`` as in the summary, ``label`` and ``meaning`` for people, ``colour`` as #rrggbb."""

    key: str
    label: str
    colour: str
    meaning: str


_DRAWN = (  # key, label, colour
    ("useful", "useful MACs", "#0072B2"),
    ("busy", "busy", "#0072B2"),
    ("edge_underfill", "edge underfill", "#56B4E9"),
    ("dtype_loss", "dtype loss", "#B3D9F2"),
    ("fill_drain", "fill and drain", "#009E73"),
    ("weight_load", "weight load", "#7FCDB0"),
    ("stall_dram", "waits for DRAM", "#D55E00"),
    ("stall_noc", "waits for on-chip moves", "#CC79A7"),
    ("stall_sram_port", "waits for SRAM port", "#E69F00"),
    ("stall_compute", "waits for compute", "#7A6BA8"),
    ("stall_dependency", "waits for dependency", "#7B2D43"),
    ("launch", "launch", "#C9B458"),
    ("imbalance", "imbalance", "#8A8D3C"),
    ("idle", "idle", "#D5DAE0"),
)
CAUSES = tuple(StallCause(key, label, colour, MEANINGS[key]) for key, label, colour in _DRAWN)

_BY_KEY = {cause.key: cause for cause in CAUSES}
_UNKNOWN_COLOUR = "#5F6873"

BOUND_CAUSE = {  # bound_by of a layer, and causes on the critical path -> the cause they are drawn as
    "compute": "busy",
    "dram": "stall_dram",
    "noc": "stall_noc",
    "sram_port": "stall_sram_port",
    "dependency": "stall_dependency",
    "launch": "launch",
    "imbalance": "imbalance",
}


def cause(key: str) -> StallCause:
    """The cause of a summary key; the operand of ``stall_dram.weights`` is dropped; unknown keys are grey."""
    base = _base(key)
    return _BY_KEY.get(base) or StallCause(base, base.replace("_", " "), _UNKNOWN_COLOUR, "")


def _base(key: str) -> str:
    word = key.partition(".")[0]
    return BOUND_CAUSE.get(word, word)


def label(key: str) -> str:
    """``stall_dram.weights`` as ``waits for DRAM (weights)``."""
    operand = key.partition(".")[2]
    return f"{cause(key).label} ({operand})" if operand else cause(key).label


def in_order(keys: list[str]) -> list[str]:
    """``keys`` in the order of ``CAUSES``; unknown ones last, by name; operands of one cause by name."""
    position = {known.key: index for index, known in enumerate(CAUSES)}
    return sorted(keys, key=lambda key: (position.get(_base(key), len(CAUSES)), key))


def waiting(key: str) -> str:
    """What is waited for, without the verb: ``stall_dram.weights`` as ``DRAM (weights)``."""
    return label(key).removeprefix("waits for ")


def bound_label(bound_by: str) -> str:
    """``sram_port`` as ``SRAM port``, ``compute`` as it is."""
    return bound_by if bound_by == "compute" else waiting(BOUND_CAUSE.get(bound_by, bound_by))


def bound_colour(bound_by: str) -> str:
    """The colour of a layer's ``bound_by``."""
    return cause(BOUND_CAUSE.get(bound_by, bound_by)).colour
