"""Classes of values that many things share, so that nobody may change one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar, dataclass_transform

Class = TypeVar("Class")


@dataclass_transform(frozen_default=True)
def shared(cls: type[Class]) -> type[Class]:
    """A dataclass with slots and a hash that the type checker holds to be frozen; at run time it is not, since frozen
    ones take three times as long to make, and a Program has a million of them.
    """
    return dataclass(slots=True, unsafe_hash=True)(cls)
