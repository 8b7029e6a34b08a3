"""The grammar of scenario files: keys, what they may be, and what they mean."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, ClassVar

from pydantic import Field

from archsim.base import units
from archsim.base.errors import ConfigError
from archsim.lab.kit.options import parameter_value, parse_dtypes
from archsim.lab.scenario.words import PREEMPTS, RESERVED, SCENARIO
from archsim.spec import json_forms as j
from archsim.spec import value_domains as d
from archsim.spec.schema_base import Section, Source
from archsim.spec.value_domains import DomainWords

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
POLICIES = ("edf", "rate_monotonic", "fifo")


def _stream_name() -> d.Domain:
    allowed = f"letters, digits and underscores, a letter first, not {', '.join(RESERVED)}"

    def convert(value: object) -> str:
        if not isinstance(value, str) or not _NAME.fullmatch(value) or value in RESERVED:
            raise ConfigError(f"found the name {units.shown(value)}; allowed {allowed}")
        return value

    return d.Domain(allowed, convert, j.text(_NAME.pattern))


def dtypes() -> d.Domain:
    """A dtype, or dtypes by role: ``w=int8,a=bf16``."""
    allowed = "a dtype such as int8, or dtypes by role such as w=int8,a=bf16"

    def convert(value: object) -> str:
        if not isinstance(value, str):
            raise ConfigError(f"found {units.shown(value)}; allowed {allowed}")
        try:
            parse_dtypes(value)
        except ConfigError as error:
            raise ConfigError(str(error).removeprefix("--dtype: ")) from None
        return value

    return d.Domain(allowed, convert, j.text())


def settings() -> d.Domain:
    """The value of a key path of the chip; judged with its path."""
    return d.Domain("values of the chip's key", lambda value: value)


Model = Annotated[str, d.text("the name of a model, or a path")]


def parameter() -> d.Domain:
    """A size, another number or a word, as ``--parameter`` takes them."""
    allowed = "a number from 0 on, or a word"

    def convert(value: object) -> int | float | str:
        is_plain = isinstance(value, int | float | Decimal | str) and not isinstance(value, bool)
        found = parameter_value(str(value).strip()) if is_plain else None
        if found is None:
            raise ConfigError(f"found {units.shown(value)}; allowed {allowed}")
        return found

    return d.Domain(allowed, convert, j.any_of({"type": "number", "minimum": 0}, j.text()))


Parameters = dict[Annotated[str, d.name()], Annotated[int | float | str, parameter()]]
Batch = Annotated[int, d.count(1, 2**20)]
_DUE = d.amount(units.TIME, "0 s", "3600 s", positive=True)


class Stream(Section):
    """One of `streams`: frames of a model at a rate."""

    EXAMPLE: ClassVar[str] = "{model: eye_tracking, rate: 60 Hz}"

    model: Model = Field(description="name of a model (`show models`), or a path relative to this file")
    rate: Annotated[Fraction, d.amount(units.FREQUENCY, "1/3600 Hz", "1000 GHz")] = Field(description="frames a second")
    deadline: Annotated[Fraction, _DUE] | None = Field(None, description="from a frame's release; the next frame's")
    offset: Annotated[int, d.whole(units.TIME, "0 s", "3600 s")] = Field(0, description="of the first frame's release")
    batch: Batch | None = Field(None, description="samples of a frame; as the model states")
    parameters: Parameters = Field({}, description="parameters of the model")
    dtype: Annotated[str, dtypes()] | None = Field(None, description="number formats; the chip's")
    source: Source | None = Field(None, description="where rate and model come from")


class QueueSection(Section):
    """`queue`: which waiting frame is next, and where it may take another's place."""

    LABEL = "schema.Queue"
    policy: Annotated[str, d.choice(*POLICIES)] = Field(POLICIES[0], description="which waiting frame is next")
    preempt: Annotated[str, d.choice(*PREEMPTS)] = Field(PREEMPTS[0], description="where a frame may be put off")


class Sleep(Section):
    """`sleep`: the chip while no frame waits."""

    power: Annotated[Fraction, d.amount(units.POWER, "0 W", "1000 W")] = Field(description="of the whole chip")
    wake: Annotated[int, d.whole(units.TIME, "0 s", "3600 s")] = Field(description="time to wake for the next frame")
    source: Source = Field(description="where the numbers come from")


class Point(Section):
    """One of `points`: values of the chip by key path, tried with the others."""

    set: dict[str, Annotated[Any, settings()]] = Field(description="key path of the chip to its value")
    source: Source = Field(description="where the values come from")


class ScenarioSection(Section):
    """Top level of a scenario file."""

    schema_: Annotated[str, d.choice(SCENARIO)] = Field(alias="schema", description="version of this grammar")
    name: Annotated[str, d.file_name()] = Field(description="name of the scenario; the name of the file")
    description: Annotated[str, d.text()] = Field("", description="one line for `show scenarios`")
    source: Source = Field(description="where the rates and models come from")
    streams: Annotated[
        dict[Annotated[str, _stream_name()], Stream],
        DomainWords(
            "names of streams, each with its model and rate, such as {eye: {model: eye_tracking, rate: 60 Hz}}"
        ),
    ] = Field(description="name to a model with its rate")
    queue: QueueSection | None = Field(None, description="order of waiting frames")
    sleep: Sleep | None = Field(None, description="the chip while no frame waits; awake unless stated")
    points: dict[Annotated[str, d.name()], Point] = Field({}, description="operating points by name, each tried")
