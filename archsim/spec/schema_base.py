"""What all sections of the chip grammar share: value types, sources, and the keys of every part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from archsim.base import units
from archsim.spec import value_domains as d
from archsim.spec.dtypes import BITS

DTYPES = tuple(BITS)
KEYS_LATER = ("from", "to")  # keys of the grammar that this version lacks

Size = Annotated[int, d.whole(units.SIZE, "1 B", "16 TiB")]
Clock = Annotated[int, d.whole(units.FREQUENCY, "1 kHz", "100 GHz")]
Dtype = Annotated[str, d.choice(*DTYPES)]
Cycles = Annotated[d.MeasuredQuantity, d.measured("0 or more", units.CYCLES, units.TIME)]
Source = Annotated[str, d.source()]
Flag = Annotated[bool, d.flag()]
NONE_CYCLES = d.MeasuredQuantity(Fraction(0), "cycles")


def for_all(value: object) -> object:
    """One number for all entries of a table: ``2`` is ``{all: 2}``."""
    return value if isinstance(value, dict) else {"all": value}


@dataclass(frozen=True)
class Short:
    """In the annotation of a section: any value that is no mapping stands for ``{key: value}``. ``domain``: of it."""

    key: str
    domain: d.Domain

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Make a mapping of a short form before the section is read."""
        return core_schema.no_info_before_validator_function(self._long, handler(source))

    def _long(self, value: object) -> object:
        return value if isinstance(value, dict) else {self.key: value}


class Section(BaseModel):
    """A mapping of the file: unknown keys are errors, values cannot change.

    For messages: ``EXAMPLE`` of such a mapping, and keys that belong ``ELSEWHERE``, with where that is.
    """

    EXAMPLE: ClassVar[str] = ""
    ELSEWHERE: ClassVar[Mapping[str, str]] = {}
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class Sourced(Section):
    """A section that states where its numbers come from."""

    source: Source | None = Field(
        None, description="where the numbers of this section come from; each may have its own in `sources`"
    )
    sources: dict[str, Source] = Field({}, description="key (or key path below this section) to its own source")


class Part(Sourced):
    """Keys that every part of the hierarchy has."""

    name: Annotated[str, d.name()] = Field(description="unique name; key paths of options begin with it")
    clock: Clock | None = Field(
        None, description="clock of this part and of the parts below it; the chip's unless stated"
    )
    sync_stages: Annotated[int, d.count(0, 16)] = Field(
        2, description="receiver edges that a crossing into another clock takes beyond the first"
    )
    energy: dict[Annotated[str, d.name()], Annotated[float, d.real(units.ENERGY, "0 pJ", "1 uJ")]] = Field(
        {},
        description="action to energy, in place of the technology table: sram `read`, `write` (a word), dram "
        "`read`, `write` (a bit), noc `router`, `link` (a flit), array `mac`, `register_read`, `register_write`, "
        "`wire` (an element; of one operand `register_read_weights`, `_inputs`, `_partials`), vector `lane_op`, ...",
    )
    area: Annotated[float, d.real(units.AREA, "0 mm2", "10000 mm2")] | None = Field(
        None, description="area; overrides the technology table"
    )
    leakage: Annotated[float, d.real(units.POWER, "0 W", "1000 W")] | None = Field(
        None, description="static power; overrides the technology table"
    )
    idle: Annotated[float, d.real(units.POWER, "0 W", "1000 W")] | None = Field(
        None, description="power between the runs of a scenario (self-refresh, gated supply); the static one if absent"
    )
