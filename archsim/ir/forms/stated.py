"""Keys of a mapping in a file, defined once: how each is read, what it may be as JSON, what it means, its default.

Files with thousands of entries are read so (mappings). The JSON Schemas that editors take are made of the same
tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from archsim.ir.forms.fields import Fields
from archsim.spec import json_forms as j

REQUIRED = object()  # the default of keys that must be there


@dataclass(frozen=True)
class Stated:
    """A key: ``read`` takes it from the fields by its name and raises ConfigError, ``form`` is its JSON, ``says`` what
    it means."""

    read: Callable[[Fields, str], Any]
    form: j.Json
    says: str
    default: object = REQUIRED


Keys = Mapping[str, Stated]


def read_keys(fields: Fields, keys: Keys) -> dict[str, Any]:
    """The value of every key, in their order, defaults where they are absent; refuses keys that are none of them.

    Raises ConfigError with file:line:column.
    """
    found = {
        name: key.read(fields, name) if key.default is REQUIRED or fields.has(name) else key.default
        for name, key in keys.items()
    }
    fields.end()
    return found


def json_form(keys: Keys, about: str) -> j.Json:
    """The keys as an object of a JSON Schema that takes no others."""
    return {
        "type": "object",
        "description": about,
        "properties": {name: {**key.form, "description": f"{key.says}."} for name, key in keys.items()},
        "required": [name for name, key in keys.items() if key.default is REQUIRED],
        "additionalProperties": False,
    }


def text(says: str, default: object = REQUIRED) -> Stated:
    """Any text."""
    return Stated(lambda fields, key: fields.text(key), {"type": "string"}, says, default)


def word(names: tuple[str, ...], says: str, default: object = REQUIRED) -> Stated:
    """One of some words."""
    return Stated(lambda fields, key: fields.text(key, names), j.words(names), says, default)


def texts(says: str) -> Stated:
    """A list of texts, () where it is absent."""
    return Stated(lambda fields, key: fields.texts(key), j.listed({"type": "string"}), says, ())


def integer(says: str, default: object = REQUIRED) -> Stated:
    """A whole number of 0 or more."""
    return Stated(lambda fields, key: fields.integer(key), {"type": "integer", "minimum": 0}, says, default)
