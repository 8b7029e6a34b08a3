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

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from archsim.base.units import PS_PER_S
from archsim.lab.scenario import schema
from archsim.lab.scenario.words import SCENARIO
from archsim.spec import settings
from archsim.spec.nodes import FileNode, Mark, parse
from archsim.spec.problems import Problems, validate

SCHEMA = SCENARIO


@dataclass(frozen=True, slots=True)
class FrameStream:
    """Frames of ``model`` (a name or a path) at a rate; ``deadline_ps`` from a frame's release on."""

    name: str
    model: str
    period_ps: Fraction
    deadline_ps: Fraction
    offset_ps: int = 0
    batch: int | None = None
    parameters: Mapping[str, int | float | str] = field(default_factory=dict)
    dtype: str | None = None
    place: str = field(default="", compare=False)  # where the file names the model

    @property
    def rate_hz(self) -> Fraction:
        """Frames a second."""
        return PS_PER_S / self.period_ps


@dataclass(frozen=True, slots=True)
class ChipSleep:
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
    marks: Mapping[str, Mark] = field(default_factory=dict, compare=False)  # key path -> where it is set


@dataclass(frozen=True, slots=True)
class Scenario:
    """What a file says. ``policy``: which waiting frame is next; ``preempt``: where it may take another's place."""

    name: str
    description: str
    source: str
    streams: tuple[FrameStream, ...]
    policy: str = "edf"
    preempt: str = "never"
    sleep: ChipSleep | None = None
    points: tuple[OperatingPoint, ...] = ()


def read(text: str, path: str = "<text>") -> Scenario:
    """The scenario of a file's text; raises ConfigError with file:line:column, key path and what is allowed.

    Values of operating points are judged as far as that can be without a chip.
    """
    root = parse(text, path)
    problems = Problems()
    found = validate(schema.ScenarioSection, root, "", problems)
    _check(root, problems)
    problems.raise_all()
    if found is None:
        raise TypeError("a scenario was refused without a reason")
    queue = found.queue or schema.QueueSection.model_validate({})
    return Scenario(
        found.name,
        found.description,
        found.source,
        tuple(_stream(name, stream, root.mapping["streams"].mapping[name]) for name, stream in found.streams.items()),
        queue.policy,
        queue.preempt,
        ChipSleep(found.sleep.power, found.sleep.wake, found.sleep.source) if found.sleep else None,
        tuple(_point(name, point, root.mapping["points"].mapping[name]) for name, point in found.points.items()),
    )


def _check(root: FileNode, problems: Problems) -> None:
    """A scenario has streams; an operating point sets something, and what chips have."""
    streams = root.mapping.get("streams")
    if streams is not None and streams.value == {}:
        problems.add(streams.mark, "streams", "found none; allowed names of streams, each with model and rate")
    points = root.mapping.get("points")
    for name, point in (points.mapping if points is not None else {}).items():
        values = point.mapping.get("set")
        if values is not None and values.value == {}:
            said = "found none; allowed key paths of the chip with values"
            problems.add(values.mark, f"points.{name}.set", said)
        if values is not None:
            settings.check(values.mapping, f"points.{name}.set", problems)


def _stream(name: str, found: schema.Stream, node: FileNode) -> FrameStream:
    period = PS_PER_S / found.rate
    due = period if found.deadline is None else found.deadline
    place = f"{node.mapping['model'].mark}: streams.{name}.model"
    return FrameStream(name, found.model, period, due, found.offset, found.batch, found.parameters, found.dtype, place)


def _point(name: str, found: schema.Point, node: FileNode) -> OperatingPoint:
    stated = node.mapping["set"].mapping
    marks = {key: child.mark for key, child in stated.items()}
    return OperatingPoint(name, {key: child.plain() for key, child in stated.items()}, found.source, marks)
