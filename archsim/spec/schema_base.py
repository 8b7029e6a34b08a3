"""What all sections of a grammar share: that they know all their keys, where their numbers come from, value types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from archsim.base import units
from archsim.spec import value_domains as d
from archsim.spec.dtypes import DTYPES

KEYS_LATER = ("from", "to")  # keys of the grammar that this version lacks

Clock = Annotated[int, d.whole(units.FREQUENCY, "1 kHz", "100 GHz")]
Dtype = Annotated[str, d.choice(*DTYPES)]
Source = Annotated[str, d.source()]
Flag = Annotated[bool, d.flag()]


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

    For messages: ``EXAMPLE`` of such a mapping, and keys that belong ``ELSEWHERE``, with where that is. ``LABEL``: its
    name in JSON Schemas, which editors keep; that of the class unless stated.
    """

    LABEL: ClassVar[str] = ""
    EXAMPLE: ClassVar[str] = ""
    ELSEWHERE: ClassVar[Mapping[str, str]] = {}
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class Sourced(Section):
    """A section that states where its numbers come from."""

    source: Source | None = Field(
        None, description="where the numbers of this section come from; each may have its own in `sources`"
    )
    sources: dict[str, Source] = Field({}, description="key (or key path below this section) to its own source")


def label(model: type[BaseModel]) -> str:
    """The name of a section in JSON Schemas: ``schema_noc.Phy``."""
    own = model.LABEL if issubclass(model, Section) and "LABEL" in vars(model) else ""
    return own or f"{model.__module__.rpartition('.')[2]}.{model.__name__.partition('[')[0]}"
