"""What time and MAC slots are charged to: the causes by name, what each means, and which are of what.

``TIME`` divides the time of every unit, ``SLOTS`` the MAC slots of the arrays, ``BOUNDS`` the critical path; a layer is
bound by one of the last.
"""

from __future__ import annotations

from collections.abc import Mapping

MEANINGS: Mapping[str, str] = {
    "useful": "multiply-accumulates the model asked for",
    "busy": "the unit works on its command",
    "edge_underfill": "rows or columns without work in partial folds",
    "dtype_loss": "the dtype used runs below the best rate of the array",
    "fill_drain": "the skew of operands entering and results leaving the array",
    "weight_load": "the operand that stays is shifted into the array and nothing hides it",
    "stall_dram": "DRAM has not delivered or taken the data yet",
    "stall_noc": "a move between memories is under way: over a network up to its last flit, else at the rate of its "
    "ports",
    "stall_sram_port": "streams share an SRAM port and stretch each other, or the words of one meet in a bank",
    "stall_compute": "moves and vector work wait for the array of their own layer",
    "stall_dependency": "the producer is a vector unit, another array or another layer",
    "launch": "host launch, issue and set-up commands",
    "imbalance": "a sibling core still works on the layer",
    "idle": "nothing left or nothing given to do",
    "compute": "MACs at the pace of the formats used, and vector work",
    "dram": "a move that DRAM takes its time for",
    "noc": "a move that a network or the rate of ports takes its time for",
    "sram_port": "a command that shared ports or banks stretch",
    "dependency": "what lies between a command and the one that it waited for",
}  # fmt: skip
TIME = (
    "busy", "stall_dram", "stall_noc", "stall_sram_port", "stall_compute", "stall_dependency", "fill_drain",
    "weight_load", "launch", "imbalance", "idle",
)  # fmt: skip
_WAITS = tuple(cause for cause in TIME if cause.startswith("stall_"))
SLOTS = ("useful", "edge_underfill", "dtype_loss", "fill_drain", "weight_load", *_WAITS, "launch", "imbalance", "idle")
BOUNDS = (
    "compute", "dram", "noc", "sram_port", "dependency", "launch", "imbalance", "weight_load", "fill_drain",
    "edge_underfill",
)  # fmt: skip
OF_ARRAYS = (*_WAITS, "launch", "imbalance")  # the causes of a layer's ``stalls``
SINCE_SECOND = ("weight_load",)  # causes that results of the first schema do not have
