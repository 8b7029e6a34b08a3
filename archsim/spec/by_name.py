"""Values by name: one for all names, and others for those that are named, as platforms state them of operators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, NamedTuple, TypeVar

from archsim.base import units
from archsim.base.errors import ConfigError
from archsim.spec import json_forms as j
from archsim.spec.value_domains import Domain

DEFAULT = "default"

V = TypeVar("V")


class ByName(NamedTuple, Generic[V]):
    """A value for every name, ``default``, but for the ``others``, which have their own."""

    default: V
    others: Mapping[str, V] = {}  # noqa: RUF012

    def of(self, name: str) -> V:
        """The value of a name."""
        return self.others.get(name, self.default)


def by_name(one: Domain, example: str) -> Domain:
    """A value of a domain, or a mapping of names to such values with that of all other names under ``default``."""
    allowed = f"{one.allowed}, or a mapping such as {example}"

    def convert(value: object) -> ByName[Any]:
        if not isinstance(value, dict):
            return ByName(_converted(one, value, after=f", or a mapping such as {example}"))
        if DEFAULT not in value:
            raise ConfigError(f"found {units.shown(value)}; allowed {allowed}")
        found = {str(name): _converted(one, each, before=f"{name}: ") for name, each in value.items()}
        return ByName(found.pop(DEFAULT), dict(sorted(found.items())))

    def written(found: ByName[Any]) -> object:
        plain = one.written(found.default)
        if not found.others:
            return plain
        return {DEFAULT: plain, **{name: one.written(each) for name, each in found.others.items()}}

    return Domain(allowed, convert, j.any_of(dict(one.json), j.table(dict(one.json))), written)


def _converted(one: Domain, value: object, before: str = "", after: str = "") -> Any:
    """A value of a domain; raises ConfigError with texts around what the domain says of another one."""
    try:
        return one.convert(value)
    except ConfigError as error:
        raise ConfigError(f"{before}{error}{after}") from None
