"""The table of causes: what the time of units and the MAC slots of arrays are charged to, one row for each.

A row has the spellings of the machine, the words, colour and meaning that people read, the place in every order, and
which parts of a chip can mend the cause. The engines, the attribution, results, their JSON Schema, comparisons, sweeps
and pages ask the table; a new cause is a new row here, and an engine that names it in the phases of its commands.

A cause of the kind WAIT is spelled ``dram`` where engines and the critical path name it, and ``stall_dram`` where it
divides time and MAC slots; the keys of results are these words.

Colours begin from the Okabe-Ito set (Okabe and Ito, "Color Universal Design", 2008), which stays apart under the common
forms of colour blindness; the rest are tints and greys that differ from it in lightness.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from archsim.base.errors import ConfigError
from archsim.ir.keys import FIRST, SECOND


class CauseKind(Enum):
    """What a cause is, which gives its place in the orders of the results."""

    WORK = "work"  # the unit does what it is there for
    LOSS = "loss"  # the array's own time or slots in which it does none of it
    WAIT = "wait"  # the unit waits, or is stretched
    AROUND = "around"  # what lies around the work
    DONE = "done"  # the unit has done its part


@dataclass(frozen=True, slots=True)
class StallCause:
    """A row. ``key``: in ``time_breakdown`` (where ``time``), ``mac_breakdown`` (where ``slots``) and ``stalls``.

    ``engine``: the phase of a command that is charged to it, '' where none is and the attribution decides. ``bound``:
    what it is called where it bounds a layer or lies on the critical path, '' where it does neither;
    ``bound_meaning``: what it means there, as ``meaning`` where it is ''. ``mended_by``: kinds of parts of the chip
    file that have keys against it; none for a cause that the mapping decides. ``since``: the
    number of the first schema of results that has it (archsim.result/N): results written before it are read without the
    cause, and their schema does not ask for it.
    """

    key: str
    label: str
    colour: str
    kind: CauseKind
    meaning: str
    mended_by: tuple[str, ...] = ()
    time: bool = True
    slots: bool = True
    engine: str = ""
    bound: str = ""
    bound_meaning: str = ""
    since: int = FIRST


class CauseTable:
    """The rows by kind, of one kind in the order in which they are given, and what is asked of them.

    ``time``, ``slots``, ``bounds``: the keys that divide the time of every unit, the MAC slots of the arrays, and the
    critical path; a layer is bound by one of the last, of equal ones by the first. ``of_arrays``: the keys of a layer's
    ``stalls``. ``waits``: those of the kind WAIT. ``worked``: those in which a unit is at work, ``own``: of these an
    array's own losses; ``done``: those in which it has nothing left. ``since_second``: those that results of the first
    schema do not have. ``engines``: phase of a command -> key. ``on_path``: phase -> what the critical path calls it.
    ``bound_of``: key -> the bound that it counts for.

    ``rows`` may be set; all of these follow. Raises ConfigError for two rows of one key or phase, for a row without the
    words and the colour that people see, and for a wait that no layer could be bound by.
    """

    def __init__(self, rows: Iterable[StallCause]) -> None:
        self.rows = tuple(rows)

    @property
    def rows(self) -> tuple[StallCause, ...]:
        """All rows, in the order in which people read them."""
        return self._rows

    @rows.setter
    def rows(self, rows: tuple[StallCause, ...]) -> None:
        _check(rows)
        work, loss, wait, around, done = ([row for row in rows if row.kind is kind] for kind in CauseKind)
        self._rows = (*work, *loss, *wait, *around, *done)
        self.time = tuple(row.key for row in (*work, *wait, *loss, *around, *done) if row.time)
        self.slots = tuple(row.key for row in self._rows if row.slots)
        on_path = [row for row in (*work, *wait, *around, *done, *reversed(loss)) if row.bound]
        self.bounds = tuple(dict.fromkeys(row.bound for row in on_path))
        self.of_arrays = tuple(row.key for row in (*wait, *around, *done) if row.time and row.bound)
        self.waits = tuple(row.key for row in wait if row.time)
        self.own = tuple(row.key for row in loss if row.time)
        self.worked = (*(row.key for row in work if row.time), *self.own)
        self.done = tuple(row.key for row in done if row.time)
        self.since_second = tuple(row.key for row in self._rows if row.since >= SECOND)
        self.engines: Mapping[str, str] = {row.engine: row.key for row in rows if row.engine}
        self.on_path: Mapping[str, str] = {row.engine: row.bound for row in rows if row.engine and row.bound}
        self.bound_of: Mapping[str, str] = {row.key: row.bound for row in rows if row.bound}
        self._place = {row.key: place for place, row in enumerate(self._rows)}
        self._by_word = {row.bound: row for row in reversed(self._rows) if row.bound}  # of two, the first is drawn
        self._by_word |= {row.key: row for row in self._rows}

    def get(self, word: str) -> StallCause | None:
        """The row of a key, or of a word of the critical path; None for another."""
        return self._by_word.get(word)

    def place(self, word: str) -> int:
        """The place of a key or bound among the rows; behind all of them for another word."""
        row = self.get(word)
        return len(self._rows) if row is None else self._place[row.key]

    def meaning(self, word: str) -> str:
        """What a key, or a word of the critical path, means; raises KeyError for another word."""
        row = self._by_word[word]
        return row.meaning if word == row.key else row.bound_meaning or row.meaning


def _check(rows: tuple[StallCause, ...]) -> None:
    for name, texts in (("key", [row.key for row in rows]), ("phase", [row.engine for row in rows if row.engine])):
        twice = sorted({text for text in texts if texts.count(text) > 1})
        if twice:
            raise ConfigError(f"causes: two rows have the {name} {', '.join(twice)}; allowed one")
    waits = [row.key for row in rows if row.kind is CauseKind.WAIT and not row.bound]
    if waits:
        raise ConfigError(f"causes: {', '.join(waits)} wait and bound no layer; every wait has a bound")
    bare = [row.key for row in rows if not (row.label and row.meaning and row.colour.startswith("#"))]
    if bare:
        raise ConfigError(f"causes: {', '.join(bare)} lack words or a colour; every row has a label, meaning, colour")


_WORK, _LOSS, _WAIT, _AROUND, _DONE = CauseKind

CAUSES = CauseTable((
    StallCause(
        "useful", "useful MACs", "#0072B2", _WORK, "multiply-accumulates the model asked for",
        mended_by=("array", "vector"), time=False,
    ),
    StallCause(
        "busy", "busy", "#0072B2", _WORK, "the unit works on its command",
        mended_by=("array", "vector"), slots=False,
        bound="compute", bound_meaning="MACs at the pace of the formats used, and vector work",
    ),
    StallCause(
        "edge_underfill", "edge underfill", "#56B4E9", _LOSS, "rows or columns without work in partial folds",
        mended_by=("array",), time=False, bound="edge_underfill",
    ),
    StallCause(
        "dtype_loss", "dtype loss", "#B3D9F2", _LOSS, "the dtype used runs below the best rate of the array",
        mended_by=("array",), time=False,
    ),
    StallCause(
        "fill_drain", "fill and drain", "#009E73", _LOSS,
        "the skew of operands entering and results leaving the array",
        mended_by=("array",), engine="fill_drain", bound="fill_drain",
    ),
    StallCause(
        "weight_load", "weight load", "#7FCDB0", _LOSS,
        "the operand that stays is shifted into the array and nothing hides it",
        mended_by=("array",), engine="weight_load", bound="weight_load", since=SECOND,
    ),
    StallCause(
        "stall_dram", "waits for DRAM", "#D55E00", _WAIT, "DRAM has not delivered or taken the data yet",
        mended_by=("dram", "dma"), engine="dram",
        bound="dram", bound_meaning="a move that DRAM takes its time for",
    ),
    StallCause(
        "stall_noc", "waits for on-chip moves", "#CC79A7", _WAIT,
        "a move between memories is under way: over a network up to its last flit, else at the rate of its ports",
        mended_by=("noc", "sram", "dma"), engine="noc",
        bound="noc", bound_meaning="a move that a network or the rate of ports takes its time for",
    ),
    StallCause(
        "stall_sram_port", "waits for SRAM port", "#E69F00", _WAIT,
        "streams share an SRAM port and stretch each other, or the words of one meet in a bank",
        mended_by=("sram", "cache"), engine="sram_port",
        bound="sram_port", bound_meaning="a command that shared ports or banks stretch",
    ),
    StallCause(
        "stall_compute", "waits for compute", "#7A6BA8", _WAIT,
        "moves and vector work wait for the array of their own layer",
        mended_by=("array",), bound="compute",
    ),
    StallCause(
        "stall_dependency", "waits for dependency", "#7B2D43", _WAIT,
        "the producer is a vector unit, another array or another layer",
        mended_by=("vector", "array"),
        bound="dependency", bound_meaning="what lies between a command and the one that it waited for",
    ),
    StallCause(
        "launch", "launch", "#C9B458", _AROUND, "host launch, issue and set-up commands",
        mended_by=("host", "dma"), bound="launch",
    ),
    StallCause(
        "imbalance", "imbalance", "#8A8D3C", _DONE, "a sibling core still works on the layer", bound="imbalance",
    ),
    StallCause("idle", "idle", "#D5DAE0", _DONE, "nothing left or nothing given to do"),
))  # fmt: skip


@dataclass(frozen=True, slots=True)
class CauseKeys:
    """Of a mapping whose keys are causes, or of a word that is one: which of the table's lists they are (``time``,
    ``slots``, ``bounds``, ``of_arrays``), whether all of them are there, and whether an operand may follow
    (``stall_dram.weights``)."""

    listed: str
    whole: bool = False
    operands: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The keys, as the table has them now."""
        found: tuple[str, ...] = getattr(CAUSES, self.listed)
        return found
