"""What exists: the names that users may type, one line each, and a chip printed resolved."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from archsim.base import registry
from archsim.base.errors import ConfigError, nearest
from archsim.base.units import si

if TYPE_CHECKING:
    from archsim.spec.architecture import Architecture

ShownLines = list[tuple[str, str]]  # name, what it is


def kinds() -> tuple[str, ...]:
    """What ``show`` can list."""
    return tuple(_LISTS)


def listing(kind: str) -> ShownLines:
    """Name and description of everything of ``kind``; raises ConfigError for an unknown kind."""
    if kind not in _LISTS:
        raise ConfigError(f"show: no kind '{kind}'{nearest(kind, _LISTS)}; it has: {', '.join(_LISTS)}")
    return _LISTS[kind]()


def chip(name: str) -> str:
    """The chip ``name`` (or a path) resolved, as YAML with every default stated and arrays expanded."""
    from archsim.spec.load import load, to_yaml

    return to_yaml(load(name))


def schema(name: str) -> str:
    """The JSON Schema of a kind of file, as text."""
    from archsim.lab.files import schemas

    return schemas.schema(name)


def _schemas() -> ShownLines:
    from archsim.lab.files import schemas

    return list(schemas.names().items())


def _chips() -> ShownLines:
    from archsim.spec.load import load, names

    chips = [load(name) for name in names()]
    return [(chip.name, chip.description or _shape(chip)) for chip in chips]


def _shape(found: Architecture) -> str:
    arrays = " + ".join(f"{array.copies} x {array.rows}x{array.cols}" for array in found.arrays) or "no array"
    return f"{arrays} at {si(found.clock_hz, 'Hz')}, {found.technology}"


def _models() -> ShownLines:
    from archsim.frontend.load import names

    found = names()
    return list(found.items()) if isinstance(found, Mapping) else [(name, "") for name in found]


def _scenarios() -> ShownLines:
    from archsim.lab.scenario.find import names

    return list(names().items())


def _dram() -> ShownLines:
    from archsim.facts.dram import catalogue

    return [(name, _first_line(catalogue.KIND, name)) for name in catalogue.names()]


def _technologies() -> ShownLines:
    from archsim.spec.locate import config_files
    from archsim.spec.nodes import read

    found = {name: read(path).mapping.get("description") for name, path in config_files("technology").items()}
    return [(name, str(node.value) if node is not None else "") for name, node in found.items()]


def _dataflows() -> ShownLines:
    from archsim.facts.dataflows import catalogue

    return [(name, _first_line(catalogue.KIND, name)) for name in catalogue.names()]


def _topologies() -> ShownLines:
    from archsim.facts.noc import catalogue

    return [(name, _first_line(catalogue.KIND, name)) for name in catalogue.names()]


def _first_line(kind: registry.Kind, name: str) -> str:
    return (registry.load(kind, name).__doc__ or "").strip().partition("\n")[0]


_LISTS: Mapping[str, Callable[[], ShownLines]] = {
    "chips": _chips,
    "models": _models,
    "scenarios": _scenarios,
    "dram": _dram,
    "technologies": _technologies,
    "dataflows": _dataflows,
    "topologies": _topologies,
    "schema": _schemas,
}
