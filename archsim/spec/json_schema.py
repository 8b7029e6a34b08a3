"""Sections of a grammar as JSON Schemas (draft 2020-12), for editors: the same definition that checks the files.

A JSON Schema knows nothing of units: what a quantity may be stands in its description, its form in a pattern.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from types import UnionType
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel, BeforeValidator
from pydantic.fields import FieldInfo

from archsim.spec import json_forms as j
from archsim.spec.problems import allowed_text
from archsim.spec.schema_base import Short, label
from archsim.spec.value_domains import Domain

DRAFT = "https://json-schema.org/draft/2020-12/schema"


class Sections:
    """Definitions of sections, made as they are met; ``partial``: no key is required (a file that extends another)."""

    def __init__(self, partial: bool = False) -> None:
        """Start without any."""
        self.found: dict[str, j.Json] = {}
        self._names: dict[type[BaseModel], str] = {}
        self._suffix = "_partial" if partial else ""

    def ref(self, model: type[BaseModel]) -> j.Json:
        """A reference to the definition of a section."""
        name = self._names.get(model)
        if name is None:
            name = self._names[model] = self._new_name(model)
            self.found[name] = {}
            self.found[name] = self.section(model)
        return {"$ref": f"#/$defs/{name}"}

    def _new_name(self, model: type[BaseModel]) -> str:
        """The name of a section; sections of one name, such as figures of several ranges, are numbered."""
        plain = f"{label(model)}{self._suffix}"
        number = sum(name == plain or name.startswith(f"{plain}.") for name in self.found)
        return f"{plain}.{number + 1}" if number else plain

    def section(self, model: type[BaseModel]) -> j.Json:
        """The object of a section: its keys, which of them are required, and no others."""
        fields = {info.alias or name: info for name, info in model.model_fields.items()}
        required = [key for key, info in fields.items() if info.is_required() and not self._suffix]
        return {
            "type": "object",
            "description": " ".join((model.__doc__ or "").split()),
            "properties": {key: self._field(info) for key, info in fields.items()},
            **({"required": required} if required else {}),
            "additionalProperties": False,
        }

    def value(self, annotation: Any, metadata: Sequence[object] = ()) -> j.Json:
        """What an annotation allows, in the form that a file writes."""
        for item in metadata:
            if isinstance(item, Domain):
                return {**item.json}
            if isinstance(item, Short):
                return j.any_of({**item.domain.json}, self.value(annotation))
            if isinstance(item, BeforeValidator):  # one number for all entries of a table
                return j.any_of(self.value(get_args(annotation)[1]), self.value(annotation))
        arguments = get_args(annotation)
        if getattr(annotation, "__metadata__", ()):
            return self.value(arguments[0], arguments[1:])
        if isinstance(annotation, UnionType) or get_origin(annotation) is Union:
            return self.value(next(item for item in arguments if item is not type(None)))
        return self._plain(annotation, arguments)

    def _plain(self, annotation: Any, arguments: tuple[Any, ...]) -> j.Json:
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            return self.ref(annotation)
        if get_origin(annotation) is dict:
            names = self.value(arguments[0])
            return {"type": "object", "propertyNames": names, "additionalProperties": self.value(arguments[1])}
        if get_origin(annotation) is list:
            return j.listed(self.value(arguments[0]))
        return {"type": "string"} if annotation is str else {}

    def _field(self, info: FieldInfo) -> j.Json:
        words = f"{info.description}. Allowed: {allowed_text(info.annotation, info.metadata)}"
        made = self.value(info.annotation, info.metadata)
        default = {} if info.is_required() else _default(info.default)
        return {**made, "description": words, **default}


def document(name: str, root: j.Json, definitions: Mapping[str, j.Json]) -> j.Json:
    """A whole schema: its draft, what it is of, the root and the definitions that it refers to."""
    return {"$schema": DRAFT, "title": f"archsim {name}", **root, "$defs": dict(sorted(definitions.items()))}


def _default(value: object) -> j.Json:
    """A default where JSON can say it as a file would."""
    if isinstance(value, bool | int | str) and value != "":
        return {"default": value}
    return {"default": str(value)} if isinstance(value, Fraction) else {}
