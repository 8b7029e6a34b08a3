"""A domain: what a value of a file may be, as one object that checks, converts, and says what is allowed.

A ``Domain`` stands in the annotation of a schema field. Validation, error messages, the documentation page and the
JSON Schemas for editors all come from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from archsim.base import units
from archsim.base.errors import ConfigError, NotBuiltError, nearest

Json = Mapping[str, Any]


@dataclass(frozen=True)
class Domain:
    """``allowed``: the allowed values in words; ``convert`` raises ConfigError for everything else; ``json``: the same
    as a JSON Schema of the value as a file writes it, as far as JSON Schema can say it.
    """

    allowed: str
    convert: Callable[[object], object]
    json: Json = field(default_factory=dict, compare=False)

    def __get_pydantic_core_schema__(self, _source: Any, _handler: GetCoreSchemaHandler) -> CoreSchema:
        """Make pydantic call ``convert`` and nothing else for a field with this domain."""
        return core_schema.no_info_plain_validator_function(self._checked)

    def _checked(self, value: object) -> object:
        try:
            return self.convert(value)
        except NotBuiltError as error:
            raise PydanticCustomError("not_built", "{message}", {"message": str(error)}) from None
        except ConfigError as error:
            raise PydanticCustomError("domain", "{message}", {"message": str(error)}) from None


@dataclass(frozen=True)
class Words:
    """In the annotation of a schema field that is no ``Domain``: what is allowed there, in words for messages."""

    allowed: str


def in_range(value: object, inside: bool, allowed: str) -> None:
    """Raise ConfigError with what was found and what is allowed, unless the value is inside."""
    if not inside:
        raise ConfigError(f"found {units.shown(value)}; allowed {allowed}")


def not_one_of(value: object, names: Iterable[str]) -> str:
    """The message for a word that is none of ``names``."""
    known = tuple(names)
    return f"found {units.shown(value)}; allowed {', '.join(known)}{hint(value, known)}"


def hint(value: object, names: Iterable[str]) -> str:
    """A ' (did you mean X?)' for a text, '' for anything else."""
    return nearest(value, names) if isinstance(value, str) else ""


def is_whole(value: object) -> bool:
    """Whether a value is a whole number and no truth value."""
    return isinstance(value, int) and not isinstance(value, bool)
