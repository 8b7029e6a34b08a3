"""A scenario file (schema ``archsim.scenario/1``): what it says, judged by its form alone.

name: ar_glasses
source: where its numbers come from
streams:                                         # each a model with its rate
  eye: {model: eye_tracking, rate: 60 Hz}
  hand: {model: hand_tracking, rate: 30 Hz, deadline: 20 ms, offset: 5 ms, batch: 1, parameters: {size: 256},
    dtype: int8}
queue: {policy: edf | rate_monotonic | fifo, preempt: never | layer}
sleep: {power: 0.5 mW, wake: 100 us, source: ...}   # of the whole chip, whenever no frame waits; optional
points:                                          # operating points, each tried; optional
  slow: {set: {clock: 200 MHz, technology.voltage: 0.45 V}, source: ...}
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from archsim import units
from archsim.errors import ConfigError
from archsim.ir.forms.fields import Fields, fail, integer_of
from archsim.lab.options import parse_dtypes
from archsim.spec.nodes import Node, parse

SCHEMA = "archsim.scenario/1"
POLICIES = ("edf", "rate_monotonic", "fifo")
PREEMPTS = ("never", "layer")
IDLE = "idle"
RESERVED = (IDLE, "sleep", "wake")  # names beside those of streams in results
PS_PER_S = 10**12
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_SLOWEST_S = 3600  # period that a stream may have


@dataclass(frozen=True, slots=True)
class Stream:
    """Frames of ``model`` (a name or a path) at a rate; ``deadline_ps`` from a frame's release on."""

    name: str
    model: str
    period_ps: Fraction
    deadline_ps: Fraction
    offset_ps: int = 0
    batch: int | None = None
    parameters: Mapping[str, int] = field(default_factory=dict)
    dtype: str | None = None

    @property
    def rate_hz(self) -> Fraction:
        """Frames a second."""
        return PS_PER_S / self.period_ps


@dataclass(frozen=True, slots=True)
class Sleep:
    """The chip while no frame waits: what it draws, and how long it takes to wake at the next one."""

    power_w: Fraction
    wake_ps: int
    source: str


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """Values of the chip by key path."""

    name: str
    values: Mapping[str, object]
    source: str


@dataclass(frozen=True, slots=True)
class Scenario:
    """What a file says. ``policy``: which waiting frame is next; ``preempt``: where it may take another's place."""

    name: str
    description: str
    source: str
    streams: tuple[Stream, ...]
    policy: str = "edf"
    preempt: str = "never"
    sleep: Sleep | None = None
    points: tuple[OperatingPoint, ...] = ()


def read(text: str, path: str = "<text>") -> Scenario:
    """The scenario of a file's text; raises ConfigError with file:line:column, key path and what is allowed."""
    fields = Fields(parse(text, path), "")
    fields.text("schema", (SCHEMA,))
    found = Scenario(
        fields.text("name"),
        fields.text("description") if fields.has("description") else "",
        fields.text("source"),
        _streams(fields),
        *_queue(fields),
        _sleep(Fields(fields.child("sleep"), "sleep")) if fields.has("sleep") else None,
        tuple(_point(name, Fields(node, at)) for name, node, at in fields.entries("points")),
    )
    fields.end()
    return found


def _streams(fields: Fields) -> tuple[Stream, ...]:
    entries = fields.entries("streams")
    if not entries:
        raise ConfigError(f"{fields.node.mark}: streams: missing; allowed names of streams, each with model and rate")
    return tuple(_stream(name, Fields(node, at)) for name, node, at in entries)


def _stream(name: str, fields: Fields) -> Stream:
    if not _NAME.fullmatch(name) or name in RESERVED:
        said = f"letters, digits and underscores, not {', '.join(RESERVED)}"
        raise ConfigError(f"{fields.node.mark}: {fields.path}: found the name '{name}'; allowed {said}")
    period = _period(fields)
    deadline = _positive(fields, "deadline", units.TIME) if fields.has("deadline") else period
    batch = fields.integer("batch") if fields.has("batch") else None
    if batch == 0:
        fail(fields.child("batch"), fields.at("batch"), batch, "1 or more")
    if fields.has("source"):
        fields.text("source")
    found = Stream(
        name,
        fields.text("model"),
        period,
        deadline,
        _whole_ps(fields, "offset") if fields.has("offset") else 0,
        batch,
        {key: integer_of(value, place) for key, value, place in fields.entries("parameters")},
        _dtype(fields) if fields.has("dtype") else None,
    )
    fields.end()
    return found


def _period(fields: Fields) -> Fraction:
    rate = _positive(fields, "rate", units.FREQUENCY)
    if not Fraction(1, _SLOWEST_S) <= rate <= PS_PER_S:
        allowed = f"1/{_SLOWEST_S} Hz to 1000 GHz"
        fail(fields.child("rate"), fields.at("rate"), fields.child("rate").plain(), allowed)
    return PS_PER_S / rate


def _dtype(fields: Fields) -> str:
    text = fields.text("dtype")
    try:
        parse_dtypes(text)
    except ConfigError as error:
        said = str(error).removeprefix("--dtype: ")
        raise ConfigError(f"{fields.child('dtype').mark}: {fields.at('dtype')}: {said}") from None
    return text


def _queue(fields: Fields) -> tuple[str, str]:
    if not fields.has("queue"):
        return POLICIES[0], PREEMPTS[0]
    queue = Fields(fields.child("queue"), "queue")
    found = (
        queue.text("policy", POLICIES) if queue.has("policy") else POLICIES[0],
        queue.text("preempt", PREEMPTS) if queue.has("preempt") else PREEMPTS[0],
    )
    queue.end()
    return found


def _sleep(fields: Fields) -> Sleep:
    found = Sleep(_quantity(fields, "power", units.POWER), _whole_ps(fields, "wake"), fields.text("source"))
    fields.end()
    return found


def _point(name: str, fields: Fields) -> OperatingPoint:
    values = {key: node.plain() for key, node, _ in fields.entries("set")}
    if not values:
        raise ConfigError(f"{fields.node.mark}: {fields.at('set')}: missing; allowed key paths of the chip with values")
    found = OperatingPoint(name, values, fields.text("source"))
    fields.end()
    return found


def _whole_ps(fields: Fields, key: str) -> int:
    found = _quantity(fields, key, units.TIME)
    if found.denominator != 1:
        fail(fields.child(key), fields.at(key), fields.child(key).plain(), "a whole number of picoseconds")
    return int(found)


def _positive(fields: Fields, key: str, kind: units.Kind) -> Fraction:
    found = _quantity(fields, key, kind)
    if not found:
        fail(fields.child(key), fields.at(key), fields.child(key).plain(), f"a {kind.name} above 0")
    return found


def _quantity(fields: Fields, key: str, kind: units.Kind) -> Fraction:
    node: Node = fields.child(key)
    try:
        return units.parse(node.plain(), kind)
    except ConfigError as error:
        raise ConfigError(f"{node.mark}: {fields.at(key)}: {error}") from None
